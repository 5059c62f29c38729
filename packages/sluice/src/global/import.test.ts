import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import type { ManualTime } from "../../../../test/support/manual-time.ts";
import { StepwiseTurns } from "../../../../test/support/stepwise-turns.ts";
import { TroubledCounters } from "../../../../test/support/troubled-stores.ts";
import type { TraceEvent } from "../core/trace.ts";
import { NONE } from "../engine/cell-table.ts";
import { encodeKey } from "../engine/key.ts";
import type { ImportPage } from "./counters.ts";
import { Import } from "./import.ts";
import { RowBudget } from "./row-budget.ts";

const MINUTE_MS = 60_000;

const optionsOf = ({ clock, timers }: ManualTime) => {
  const budget = new RowBudget({ namespaceRowsMax: 10, workspaceRowsMax: 10 });
  return { region: "eu", importMs: 1_000, clock, timers, trace: null, budget };
};

function setUp(cellsMax = 8) {
  const world = new LayeredEngine(cellsMax);
  const { time, ledger, engine } = world;
  const counters = new TroubledCounters(time);
  const imports = new Import(engine, ledger, counters, optionsOf(time));
  const put = (region: string, count: number, identifier = "a", sequence: number = world.sequence) =>
    counters.store.publish(region, [
      { key: world.key(identifier), sequence, count, expiresAtMs: (sequence + 2) * MINUTE_MS },
    ]);
  const foreign = (identifier = "a") => engine.table.foreign(world.slot(identifier), world.sequence);
  /** Slots whose rows were found to be missing or too low. */
  const unseen = () => [...ledger.unpublished].filter((slot) => ledger.isUnseen(slot));
  return { world, time, table: engine.table, ledger, counters, imports, put, foreign, unseen };
}

describe("import", () => {
  test("the foreign sum is merged by max, the own region's row is no part of it", async () => {
    const { imports, put, foreign } = setUp();
    await put("us", 5);
    await put("ap", 3);
    await put("eu", 100);
    await imports.importOnce();
    expect(foreign()).toBe(8);
  });

  test("the own region's row raises others as a lower bound, and makes nothing fresh", async () => {
    const { world, table, imports, put } = setUp();
    world.accept("a", 4);
    await put("eu", 10);
    await imports.importOnce();
    const slot = world.slot();
    expect([table.own(slot, world.sequence), table.others(slot, world.sequence)]).toEqual([4, 6]);
    expect(table.freshUntilMs(slot, world.sequence)).toBe(0);
    expect(table.published(slot, world.sequence)).toBe(10);
    world.accept("a", 3);
    await imports.importOnce();
    expect(table.others(slot, world.sequence)).toBe(6);
  });

  test("the own region's row raises nothing while a call to the origin is under way: it may have that call's cost", async () => {
    const { world, table, ledger, imports, put } = setUp();
    world.accept("a", 4);
    const slot = world.slot();
    ledger.markCalling(slot);
    await put("eu", 10);
    await imports.importOnce();
    expect(table.others(slot, world.sequence)).toBe(0);
    ledger.unmarkCalling(slot);
    await put("eu", 11);
    await imports.importOnce();
    expect(table.others(slot, world.sequence)).toBe(7);
  });

  test("a row with a key that is none is counted and left out, and those behind it are merged", async () => {
    const { world, imports, counters, put, foreign } = setUp();
    const row = { sequence: world.sequence, count: 9, expiresAtMs: (world.sequence + 2) * MINUTE_MS };
    for (const identifier of ["", "x".repeat(600), "\ud800"]) {
      await counters.store.publish("us", [{ ...row, key: { ...world.key("a"), identifier } }]);
    }
    await counters.store.publish("us", [{ ...row, key: { ...world.key("a"), namespace: "" } }]);
    await put("us", 5);
    await imports.importOnce();
    expect([foreign(), imports.junk, imports.failed]).toEqual([5, 4, 0]);
  });

  test("its age runs from the last one that succeeded", async () => {
    const { time, imports, counters } = setUp();
    await time.advance(5_000);
    expect(imports.ageMs).toBe(5_000);
    await imports.importOnce();
    await time.advance(1_000);
    counters.trouble("failing");
    await expect(imports.importOnce()).rejects.toThrow();
    expect(imports.ageMs).toBe(1_000);
  });

  test("a cell that nobody has asked about here takes a free slot, and evicts nobody", async () => {
    const { world, imports, put, foreign } = setUp(1);
    await put("us", 5, "a");
    await put("us", 6, "b");
    await imports.importOnce();
    expect([foreign("a"), world.find("b") >= 0]).toEqual([5, false]);
  });

  test("a row of the previous window is merged into the previous cell; older and later ones into none", async () => {
    const { world, table, imports, put } = setUp();
    for (const [count, step] of [
      [1, -2],
      [2, -1],
      [3, 0],
      [4, 1],
    ] as const)
      await put("us", count, "a", world.sequence + step);
    await imports.importOnce();
    const slot = world.slot();
    expect([table.foreign(slot, world.sequence), table.foreign(slot, world.previous)]).toEqual([3, 2]);
  });

  test("a row of a window that is over, or has not begun, takes no slot for a key that nobody asked about", async () => {
    const { world, imports, put } = setUp();
    await put("us", 5, "over", world.sequence - 2);
    await put("us", 5, "later", world.sequence + 1);
    await imports.importOnce();
    expect([world.find("over"), world.find("later"), imports.cells]).toEqual([NONE, NONE, 0]);
  });

  test("a row of a window that begins later is merged once it has begun", async () => {
    const { world, time, imports, put, foreign } = setUp();
    await put("us", 4, "a", world.sequence + 1);
    await imports.importOnce();
    time.pass(MINUTE_MS);
    await imports.importOnce();
    expect(foreign()).toBe(4);
  });

  /**
   * A process whose clock ran 2 minutes ahead made every other process read the whole store in 236 of 300 imports: each row of
   * a window that had not begun asked for a full pass, again and again.
   */
  test("rows of windows that have not begun cost no full pass, however far ahead they are", async () => {
    const { world, time, counters, imports, put } = setUp();
    for (let i = 0; i < 16; i++) {
      for (const ahead of [1, 2, 60]) await put("us", i + 1, "a", world.sequence + ahead);
      await imports.importOnce();
      time.pass(1_000);
    }
    const full = counters.reads.flatMap(({ cursor }, i) => (cursor === null ? [i] : []));
    expect(full).toEqual([0, 8]);
  });

  test("a row of a window that begins soon is merged by the first import after its beginning, with its largest counts", async () => {
    const { world, time, table, counters, imports, put } = setUp();
    const next = world.sequence + 1;
    time.pass(next * MINUTE_MS - time.wallMs - 1_500);
    await put("us", 4, "a", next);
    await put("eu", 2, "a", next);
    await imports.importOnce();
    await put("ap", 3, "a", next);
    time.pass(1_000);
    await imports.importOnce();
    time.pass(1_000);
    await imports.importOnce();
    const slot = world.slot();
    expect([table.foreign(slot, world.sequence), table.others(slot, world.sequence)]).toEqual([7, 2]);
    expect(counters.reads.map(({ cursor }) => cursor === null)).toEqual([true, false, false]);
  });

  test("a row more than a minute ahead is merged by the first full pass after its window began", async () => {
    const { world, time, imports, put, foreign } = setUp();
    await put("us", 4, "a", world.sequence + 3);
    await imports.importOnce();
    time.pass(3 * MINUTE_MS);
    for (let i = 0; i < 7; i++) await imports.importOnce();
    expect(world.find("a")).toBe(NONE);
    await imports.importOnce();
    expect(foreign()).toBe(4);
  });

  test("if there are more such rows than can be kept, one full pass at the window's beginning brings the others", async () => {
    const { world, time, counters, imports, put } = setUp(3_000);
    const importOnce = async () => {
      const importing = imports.importOnce();
      await time.advance(1_000);
      await importing;
    };
    for (let i = 0; i < 1_100; i++) await put("us", 1, `k${i}`, world.sequence + 1);
    await importOnce();
    time.pass(MINUTE_MS);
    for (let i = 0; i < 7; i++) await importOnce();
    for (let i = 0; i < 1_100; i++) expect(world.find(`k${i}`)).not.toBe(NONE);
    expect(counters.reads.flatMap(({ cursor }, i) => (cursor === null ? [i] : []))).toEqual([0, 1]);
  });

  test("reads are incremental, with a full pass from time to time and after a failure", async () => {
    const { counters, imports } = setUp();
    for (let i = 0; i < 12; i++) await imports.importOnce();
    const isFull = () => counters.reads.map(({ cursor }) => cursor === null);
    expect(isFull().filter(Boolean).length).toBe(2);
    expect(isFull().slice(0, 3)).toEqual([true, false, false]);
    counters.trouble("failing");
    await expect(imports.importOnce()).rejects.toThrow("refused");
    counters.heal();
    await imports.importOnce();
    expect([isFull().at(-1), imports.failed]).toEqual([true, 1]);
  });

  test("a cell in use elsewhere makes what this region has of it due, however little", async () => {
    const { world, ledger, imports, put } = setUp();
    world.accept("a");
    ledger.markPublished(world.slot());
    await put("us", 1);
    await imports.importOnce();
    expect(ledger.unpublished.size).toBe(1);
  });

  test.each([
    ["negative", -1, 0],
    ["a fraction", 1.5, 0],
    ["no number", Number.NaN, 0],
    ["an own count that is none", 1, -5],
  ])("a row with %s is junk: counted, and nothing else", async (_, foreign, own) => {
    const { world, time, imports: __, ...rest } = setUp();
    const page = {
      cells: [{ key: world.key(), sequence: world.sequence, foreign, own }],
      cursor: "1",
      regionsLive: Number.NaN,
    };
    const counters = { ...rest.counters, read: async () => page } as unknown as TroubledCounters;
    const imports = new Import(world.engine, world.ledger, counters, optionsOf(time));
    await imports.importOnce();
    expect([imports.junk, imports.cells, imports.regionsLive, world.find() >= 0]).toEqual([1, 0, 1, false]);
  });

  test("rows that were merged, or found no room, are not asked for again until the next full pass", async () => {
    const { counters, imports, put } = setUp(1);
    await put("us", 5, "a");
    await put("us", 6, "b");
    await imports.importOnce();
    await imports.importOnce();
    expect(counters.reads.map(({ cursor }) => cursor === null)).toEqual([true, false]);
    expect(imports.cells).toBe(1);
  });

  test("every eighth import is a full pass", async () => {
    const { counters, imports } = setUp();
    for (let i = 0; i < 21; i++) await imports.importOnce();
    const full = counters.reads.flatMap(({ cursor }, i) => (cursor === null ? [i] : []));
    expect(full).toEqual([0, 8, 16]);
  });

  test("what others in the region are known to have is due; a row that brings nothing is not", async () => {
    const { world, ledger, imports, put } = setUp();
    world.accept("a", 4);
    world.accept("b", 4);
    for (const identifier of ["a", "b"]) ledger.markPublished(world.slot(identifier));
    await put("eu", 10, "a");
    await put("eu", 4, "b");
    await imports.importOnce();
    expect([...ledger.unpublished]).toEqual([world.slot("a")]);
  });

  test("a cell that is merged is told to the history", async () => {
    const { world, time, ledger, counters, put } = setUp();
    const told: TraceEvent[] = [];
    const options = { ...optionsOf(time), trace: (event: TraceEvent) => told.push(event) };
    await put("us", 5);
    await new Import(world.engine, ledger, counters, options).importOnce();
    const clocks = { wallMs: time.clock.wallMs(), monoMs: time.clock.monoMs() };
    expect(told).toEqual([
      { kind: "import", key: encodeKey(world.key()), sequence: world.sequence, count: 5, own: 0, ...clocks },
    ]);
  });

  test("a slot of a later window, after a clock that was set back, is not turned back for a row", async () => {
    const { world, time, table, imports, put } = setUp();
    world.accept("a", 4);
    time.jumpWall(-MINUTE_MS);
    await put("us", 5, "a");
    await imports.importOnce();
    const slot = world.slot();
    expect([table.sequence(slot), table.foreign(slot, world.sequence)]).toEqual([world.sequence + 1, 5]);
  });

  test("a published cell whose row has become too low is due again, also one of the window before", async () => {
    const { world, time, table, ledger, imports, put, unseen } = setUp();
    for (const identifier of ["a", "b"]) {
      world.accept(identifier, 5);
      table.raisePublished(world.slot(identifier), world.sequence, 5);
      ledger.markPublished(world.slot(identifier));
    }
    await put("eu", 3, "a");
    await put("eu", 5, "b");
    await imports.importOnce();
    expect(unseen()).toEqual([world.slot("a")]);
    ledger.markPublished(world.slot("a"));
    time.pass(MINUTE_MS);
    for (let i = 0; i < 10; i++) await imports.importOnce();
    expect(unseen()).toEqual([world.slot("a")]);
  });

  test("both cells of a key may be published and there; one that is missing is due", async () => {
    const { world, time, table, imports, put, unseen } = setUp();
    for (const identifier of ["both", "one"]) {
      world.accept(identifier, 5);
      table.raisePublished(world.slot(identifier), world.sequence, 5);
    }
    await put("eu", 5, "both");
    time.pass(MINUTE_MS);
    for (const identifier of ["both", "one"]) {
      world.accept(identifier, 2);
      table.raisePublished(world.slot(identifier), world.sequence, 2);
      await put("eu", 2, identifier);
    }
    await imports.importOnce();
    expect(unseen()).toEqual([world.slot("one")]);
  });

  test("neither a cell that was never published nor a slot that was given up is missed", async () => {
    const { world, table, imports, unseen } = setUp();
    world.accept("a", 5);
    world.accept("b", 5);
    const slot = world.slot("b");
    table.raisePublished(slot, world.sequence, 5);
    world.engine.release(slot, true);
    await imports.importOnce();
    expect(unseen()).toEqual([]);
  });

  test("a published cell that the store no longer has is due again", async () => {
    const { world, table, ledger, imports, unseen } = setUp();
    world.accept("a", 5);
    table.raisePublished(world.slot(), world.sequence, 5);
    ledger.markPublished(world.slot());
    await imports.importOnce();
    expect(unseen()).toEqual([world.slot()]);
    expect(ledger.unpublished.size).toBe(1);
  });

  test("of a store that says that it was emptied, it is due again at once, and the pass goes on where the store says", async () => {
    const { world, time, table, ledger, counters, unseen } = setUp();
    const cell = (identifier: string, own: number) => ({
      key: world.key(identifier),
      sequence: world.sequence,
      foreign: 0,
      own,
    });
    const reads: (string | null)[] = [];
    const read = async (_region: string, cursor: string | null): Promise<ImportPage> => {
      reads.push(cursor);
      const page = { cells: [cell("kept", 5), cell("lost", 5)], cursor: "full", regionsLive: 1 };
      if (cursor === null) return page;
      if (cursor === "full") return { ...page, cells: [cell("kept", 5)], cursor: "anew", rest: "rest", isAll: true };
      return { ...page, cells: [], cursor: cursor === "rest" ? "anew" : cursor };
    };
    const imports = new Import(
      world.engine,
      ledger,
      { ...counters, read } as unknown as TroubledCounters,
      optionsOf(time),
    );
    for (const identifier of ["kept", "lost"]) {
      world.accept(identifier, 5);
      table.raisePublished(world.slot(identifier), world.sequence, 5);
    }
    await imports.importOnce();
    expect(unseen()).toEqual([]);
    await imports.importOnce();
    expect(unseen()).toEqual([world.slot("lost")]);
    await imports.importOnce();
    expect(reads).toEqual([null, "full", "rest", "anew"]);
    // It was one, so the next comes eight imports after it.
    for (let i = 0; i < 7; i++) await imports.importOnce();
    expect(reads.slice(4)).toEqual(["anew", "anew", "anew", "anew", "anew", "anew", null]);
  });

  describe("of a store that answers in pages", () => {
    /** Pages of one cell each, for the full pass and for what changed; `reads` says what was asked for. */
    function setUpPages(pages: number, pageMs = 400) {
      const { world, time, ledger, counters, imports, unseen, ...rest } = setUp();
      const reads: (string | null)[] = [];
      const cell = (i: number) => ({ key: world.key(`k${i}`), sequence: world.sequence, foreign: i + 1, own: 0 });
      const read = async (_region: string, cursor: string | null): Promise<ImportPage> => {
        reads.push(cursor);
        // Each page takes a while: at 400 ms, three fit an import.
        time.pass(pageMs);
        if (cursor === "changes") return { cells: [], cursor: "changes", regionsLive: 1 };
        const i = cursor === null ? 0 : Number(cursor);
        const page = { cells: [cell(i)], cursor: "changes", regionsLive: 1 };
        return i + 1 < pages ? { ...page, rest: `${i + 1}` } : page;
      };
      const paged = { ...counters, read } as unknown as TroubledCounters;
      return {
        ...rest,
        world,
        time,
        ledger,
        unseen,
        reads,
        imports: new Import(world.engine, ledger, paged, optionsOf(time)),
      };
    }

    test("a full pass that is too long for one import goes on in the next, behind what has changed", async () => {
      const { world, table, reads, imports } = setUpPages(5);
      await imports.importOnce();
      expect(reads).toEqual([null, "1", "2"]);
      await imports.importOnce();
      expect(reads.slice(3)).toEqual(["changes", "3", "4"]);
      expect(Array.from({ length: 5 }, (_, i) => table.foreign(world.slot(`k${i}`), world.sequence))).toEqual([
        1, 2, 3, 4, 5,
      ]);
      await imports.importOnce();
      expect(reads.slice(6)).toEqual(["changes"]);
    });

    test("an import that has used up its time does not begin another page", async () => {
      const { reads, imports } = setUpPages(5, 500);
      await imports.importOnce();
      expect(reads).toEqual([null, "1"]);
    });

    test("a pass longer than the time between two passes comes to its end before the next begins", async () => {
      const { reads, imports } = setUpPages(30);
      for (let i = 0; i < 16; i++) await imports.importOnce();
      expect(reads.filter((cursor) => cursor === null)).toHaveLength(2);
      const passes = reads.filter((cursor) => cursor !== "changes");
      expect(passes.slice(0, 31)).toEqual([null, ...Array.from({ length: 29 }, (_, i) => `${i + 1}`), null]);
    });

    test("rows are missed only once the whole pass is over, and not if they were published meanwhile", async () => {
      const { world, table, ledger, unseen, imports } = setUpPages(5);
      for (const identifier of ["gone", "meanwhile"]) {
        world.accept(identifier, 5);
        table.raisePublished(world.slot(identifier), world.sequence, 5);
      }
      await imports.importOnce();
      expect(unseen()).toEqual([]);
      ledger.confirm(world.slot("meanwhile"), world.sequence);
      await imports.importOnce();
      expect(unseen()).toEqual([world.slot("gone")]);
    });
  });

  describe("the cursor", () => {
    /** A store that answers what it is told to, or fails where it is told nothing. Answers to the next import's questions. */
    function setUpScript() {
      const { world, time, ledger, counters } = setUp();
      const reads: (string | null)[] = [];
      let script: Record<string, Partial<ImportPage>> = {};
      const read = async (_region: string, cursor: string | null): Promise<ImportPage> => {
        reads.push(cursor);
        const page = script[String(cursor)];
        if (page === undefined) throw new Error("away");
        return { cells: [], cursor: "unused", regionsLive: 1, ...page };
      };
      const imports = new Import(world.engine, ledger, { ...counters, read } as never, optionsOf(time));
      const asked = async (answers: Record<string, Partial<ImportPage>>) => {
        script = answers;
        reads.length = 0;
        await imports.importOnce().catch(() => undefined);
        return [...reads];
      };
      return { asked };
    }

    test("moves to the last of several pages of changes", async () => {
      const { asked } = setUpScript();
      await asked({ null: { cursor: "1" } });
      expect(await asked({ 1: { cursor: "2", rest: "1b" }, "1b": { cursor: "3" } })).toEqual(["1", "1b"]);
      expect(await asked({ 3: { cursor: "4" } })).toEqual(["3"]);
    });

    test("stays where it was if not all pages of changes were read: those that are left come again", async () => {
      const { asked } = setUpScript();
      await asked({ null: { cursor: "1" } });
      expect(await asked({ 1: { cursor: "2", rest: "1b" } })).toEqual(["1", "1b"]);
      // A full pass follows a failure; of several pages, it does not stand for what changed before it began.
      expect(await asked({ null: { cursor: "5", rest: "p" }, p: {} })).toEqual([null, "p"]);
      expect(await asked({ 1: { cursor: "6" } })).toEqual(["1"]);
    });

    test("moves with a full pass of one page, which has all that changed", async () => {
      const { asked } = setUpScript();
      await asked({ null: { cursor: "1" } });
      await asked({});
      expect(await asked({ null: { cursor: "5" } })).toEqual([null]);
      expect(await asked({ 5: { cursor: "6" } })).toEqual(["5"]);
    });

    test("begins with the first pass, though that has several pages", async () => {
      const { asked } = setUpScript();
      expect(await asked({ null: { cursor: "1", rest: "p" }, p: { cursor: "2" } })).toEqual([null, "p"]);
      expect(await asked({ 1: { cursor: "3" } })).toEqual(["1"]);
    });
  });

  test("a defect is no junk: what a history's listener throws is told to whoever imports", async () => {
    const { world, time, ledger, counters, put } = setUp();
    await put("us", 5);
    const trace = () => {
      throw new Error("disk full");
    };
    const imports = new Import(world.engine, ledger, counters, { ...optionsOf(time), trace });
    await expect(imports.importOnce()).rejects.toThrow("disk full");
    expect([imports.junk, imports.failed]).toEqual([0, 1]);
  });

  test.each([
    [9_999, 1],
    [10_000, 2],
  ])("a full pass over a table of %i keys looks for missing rows in %i turns", async (keys, turnsTaken) => {
    const { world, time, ledger, counters, table } = setUp(10_000);
    for (let i = 0; i < keys; i++) table.claim(i, 1, 1, MINUTE_MS as never, world.sequence);
    const turns = new StepwiseTurns(time);
    const imports = new Import(world.engine, ledger, counters, { ...optionsOf(time), timers: turns.timers });
    const importing = imports.importOnce();
    let taken = 0;
    await turns.each(() => taken++);
    await importing;
    expect(taken).toBe(turnsTaken);
  });

  test("an answer of thousands of cells is merged in turns of the event loop", async () => {
    const { world, time, ledger, counters } = setUp(3_000);
    const row = { sequence: world.sequence, count: 1, expiresAtMs: (world.sequence + 2) * MINUTE_MS };
    const rows = Array.from({ length: 3_000 }, (_, i) => ({ ...row, key: world.key(`k${i}`) }));
    await counters.store.publish("us", rows);
    const turns = new StepwiseTurns(time);
    const imports = new Import(world.engine, ledger, counters, { ...optionsOf(time), timers: turns.timers });
    const importing = imports.importOnce();
    const merged: number[] = [];
    await turns.each(() => merged.push(imports.cells));
    await importing;
    expect(merged).toEqual([500, 1_000, 1_500, 2_000, 2_500, 3_000]);
  });
});
