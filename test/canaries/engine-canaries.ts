/** Mistakes in the engine: arithmetic, memory, batches, time, keys. */
import type { WorldOptions } from "@sluice/sim";
import type { Canary } from "./canary.ts";

/** Keys that differ in nothing but where their parts end. */
const oneDuration = ({ keys }: WorldOptions): Partial<WorldOptions> => ({
  keys: keys.map((key) => ({ ...key, durationMs: keys[0]!.durationMs })),
});
const skewed = (): Partial<WorldOptions> => ({ faults: ["clock-jumped-back", "clock-jumped-forward", "clock-skewed"] });
const batches = ({ traffic }: WorldOptions): Partial<WorldOptions> => ({ traffic: { ...traffic, batches: 0.5 } });
/** A table that is too small, in a region that replays. */
const tight = ({ keys }: WorldOptions): Partial<WorldOptions> => ({ cellsMax: Math.max(1, keys.length - 1) });

export const ENGINE_CANARIES: readonly Canary[] = [
  {
    name: "assign-instead-of-max",
    breaks: "what another owner said replaces what was known, so an older message lowers it",
    patches: [
      {
        file: "engine/cell-table.ts",
        find: "if (value > array[at + twin]!) array[at + twin] = value;",
        replace: "array[at + twin] = value;",
      },
    ],
    noticedBy: ["monotone"],
  },
  {
    name: "add-instead-of-max",
    breaks: "what another owner said is added to what was known, so a repeated total counts twice",
    patches: [
      {
        file: "engine/cell-table.ts",
        find: "if (value > array[at + twin]!) array[at + twin] = value;",
        replace: "if (value > 0) array[at + twin] = array[at + twin]! + value;",
      },
    ],
    noticedBy: ["lower bound", "false denial"],
  },
  {
    name: "previous-forgotten-at-rollover",
    breaks: "the current cell does not become the previous one when a window ends",
    patches: [
      {
        file: "engine/cell-table.ts",
        find: "array[at + 1] = step === 1 ? current : 0;",
        replace: "array[at + 1] = step === 1 ? 0 : current * 0;",
      },
    ],
    noticedBy: ["excess", "conservation", "own", "shutdown", "sanity"],
  },
  {
    name: "share-rounded-up",
    breaks: "the previous cell's share is rounded up instead of down",
    patches: [
      {
        file: "engine/sliding-window.ts",
        find: "return Math.floor(product / durationMs);",
        replace: "return Math.ceil(product / durationMs);",
      },
    ],
    noticedBy: ["sanity", "lower bound", "false denial"],
  },
  {
    name: "weight-of-what-has-passed",
    breaks: "the previous cell is weighed by the part of the window that has passed, not by what is left",
    patches: [
      {
        file: "engine/view.ts",
        find: "share(previous, endMs - nowMs, durationMs)",
        replace: "share(previous, durationMs - (endMs - nowMs), durationMs)",
      },
    ],
    noticedBy: ["sanity", "lower bound", "false denial"],
  },
  {
    name: "expired-a-window-early",
    breaks: "a cell is swept when its own window ends, though it matters for one more",
    patches: [
      {
        file: "engine/eviction.ts",
        find: "return nowMs >= cellExpiryMs(sequence, durationMs)",
        replace: "return nowMs >= cellExpiryMs(sequence, durationMs) - durationMs",
      },
    ],
    noticedBy: ["own", "excess", "monotone", "conservation", "shutdown", "strict"],
  },
  {
    name: "await-between-check-and-commit",
    breaks: "an allowed cost is counted a turn of the event loop after it was checked",
    patches: [
      {
        file: "engine/record.ts",
        find: "    engine.table.accept(slot, sequence, cost, limit);\n",
        replace: "    void Promise.resolve().then(() => engine.table.accept(slot, sequence, cost, limit));\n",
      },
    ],
    noticedBy: ["own"],
    world: ({ traffic }) => ({ traffic: { ...traffic, shape: "bursty" } }),
  },
  {
    name: "batch-counted-in-part",
    breaks: "a batch that does not fit counts the items that do",
    patches: [
      {
        file: "engine/record.ts",
        find: '  const isCounted = answer.reason === "allowed" && cost > 0;\n',
        replace:
          '  const isPart = outcome === "batch" && slot !== -1 && engine.table.sequence(slot) === sequence;\n  const isCounted = (answer.reason === "allowed" || isPart) && cost > 0;\n',
      },
    ],
    noticedBy: ["batch"],
    world: batches,
  },
  {
    name: "batch-items-do-not-add-up",
    breaks: "items of one cell are each checked as if the others were not in the batch",
    patches: [
      {
        file: "engine/batch.ts",
        find: "if (isSameCell(one, item) && fits(one)) cost += one.cost;",
        replace: "if (isSameCell(one, item) && fits(one)) cost += 0;",
      },
    ],
    noticedBy: ["sanity", "excess"],
    world: batches,
  },
  {
    name: "uncommitted-batch-published",
    breaks: "a batch counts its items while it waits for the origin, and takes them back before it decides",
    patches: [
      {
        file: "engine/batch.ts",
        find: '  if (judgements.includes("read")) {',
        replace: '  if (judgements.includes("read")) {\n    speculate(engine, views, items);',
      },
      {
        file: "engine/batch.ts",
        find: "  const nowMs = engine.clock.nowMs();\n  const views: View[] = [];",
        replace: "  takeBack(engine, items);\n  const nowMs = engine.clock.nowMs();\n  const views: View[] = [];",
      },
      {
        file: "engine/batch.ts",
        find: "const noItems: ReadonlySet<number> = new Set();",
        replace: `const noItems: ReadonlySet<number> = new Set();
const speculated = new WeakMap<BatchItem, Slot>();
function speculate(engine: Engine, views: readonly View[], items: readonly BatchItem[]): void {
  views.forEach(({ slot, sequence, cost, limit }, i) => {
    if (slot === NONE || cost === 0 || engine.table.sequence(slot) !== sequence) return;
    engine.table.accept(slot, sequence, cost, limit);
    engine.layers?.accepted(slot);
    speculated.set(items[i]!, slot);
  });
}
function takeBack(engine: Engine, items: readonly BatchItem[]): void {
  for (const item of items) {
    const slot = speculated.get(item);
    if (slot !== undefined) engine.table.accept(slot, engine.table.sequence(slot), -item.cost, item.limit);
    speculated.delete(item);
  }
}`,
      },
    ],
    noticedBy: ["own", "lower bound"],
    world: batches,
  },
  {
    name: "clock-not-held",
    breaks: "a clock that jumps back by a little is followed, and enters a sequence again",
    patches: [
      {
        file: "engine/held-clock.ts",
        find: "      this.#advance(wallMs, this.#clock.monoMs());\n    }\n",
        replace: "      this.#advance(wallMs, this.#clock.monoMs());\n    }\n    this.lastMs = wallMs;\n",
      },
    ],
    noticedBy: ["time", "monotone"],
    world: skewed,
  },
  {
    name: "keys-joined-with-a-dash",
    breaks: "a key's name is its parts with dashes between, which parts may hold",
    patches: [
      {
        file: "engine/key.ts",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a piece of source
        find: "return `${durationMs}:${workspace.length}:${workspace}${namespace.length}:${namespace}${identifier.length}:${identifier}`;",
        replace: 'return [durationMs, workspace, namespace, identifier].join("-");',
      },
    ],
    noticedBy: ["own", "lower bound", "excess"],
    world: oneDuration,
  },
  {
    name: "hash-without-lengths",
    breaks: "the hash takes workspace and namespace as one text",
    patches: [
      {
        file: "engine/key-hash.ts",
        find: "    absorbText(into, workspace);\n    absorbText(into, namespace);",
        replace: "    absorbText(into, workspace + namespace);",
      },
    ],
    noticedBy: ["own", "lower bound", "sanity", "monotone"],
    world: oneDuration,
  },
  {
    name: "id-reused-after-an-eviction",
    breaks: "a key that was evicted counts from zero again under the id it had",
    patches: [
      {
        file: "engine/ledger.ts",
        find: "      this.#generation++;\n",
        replace: "",
      },
      {
        file: "engine/ledger.ts",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a piece of source
        find: "this.#writer = `${this.incarnation}.${this.#generation}`;",
        replace: "this.#writer = this.incarnation;",
      },
    ],
    noticedBy: ["own", "lower bound", "single writer"],
    world: tight,
  },
  {
    name: "unreplayed-evicted",
    breaks: "a slot whose cost exists nowhere else may be evicted, and is forgotten with it",
    patches: [
      {
        file: "engine/ledger.ts",
        find: "return (this.#marks[slot]! & (UNREPLAYED | CALLING)) !== 0;",
        replace: "return (this.#marks[slot]! & CALLING) !== 0;",
      },
      {
        file: "engine/ledger.ts",
        find: "if (!isOver && (this.#marks[slot]! & UNREPLAYED) !== 0) this.#orphan(slot, sequence);",
        replace: "",
      },
    ],
    noticedBy: ["shutdown", "conservation", "excess"],
    world: tight,
  },
  {
    name: "decisions-not-tallied",
    breaks: "denials are missing in the statistics",
    patches: [
      {
        file: "engine/record.ts",
        find: "tally.add(isNever ? TALLY.deniedCost : TALLY.deniedLimit);",
        replace: "if (isNever) tally.add(TALLY.deniedCost);",
      },
    ],
    noticedBy: ["honesty"],
  },
];
