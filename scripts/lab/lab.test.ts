/** The lab itself: what it understands, how it continues after an interruption, and what it writes. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { poll } from "../../test/rig/poll.ts";
import { expectedMarks } from "../../test/sim/sometimes-page.ts";
import { parseArguments } from "./arguments.ts";
import type { CampaignChunk } from "./campaign-chunk.ts";
import { type Chunk, chosen, type Done, type LabOptions, listed, type Part, problemsOf, UsageError } from "./part.ts";
import { PARTS } from "./parts.ts";
import { ProgressLine, timeText } from "./progress-line.ts";
import { rowsOf, writeRows } from "./report.ts";
import { root } from "./root.ts";
import { runChunk } from "./run-chunk.ts";
import { type Lab, type Outcome, runPart } from "./run-part.ts";
import { sourceOf } from "./source.ts";
import { StateFolder } from "./state.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-lab-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const OPTIONS: LabOptions = {
  hours: 1,
  minutes: 1,
  requests: 1_000,
  rounds: 1,
  seed: undefined,
  from: undefined,
  only: [],
};

describe("the arguments", () => {
  const parse = (text: string) => parseArguments(text.split(" ").filter(Boolean), PARTS);

  test("name parts in any order and run them in the order of the lab, all if none is named", () => {
    expect(parse("").parts).toEqual(PARTS);
    expect(parse("canaries campaign").parts.map(({ name }) => name)).toEqual(["campaign", "canaries"]);
    expect(parse("campaign --hours 2.5 --seed 7 --fresh")).toMatchObject({
      options: { hours: 2.5, seed: 7 },
      isFresh: true,
      mode: "run",
    });
    expect(parse("canaries --only a,b").options.only).toEqual(["a", "b"]);
    expect([parse("--list").mode, parse("--help").mode]).toEqual(["list", "help"]);
  });

  test.each([
    ["compaign", '"compaign" is not a part of the lab: campaign, '],
    ["--minuets 3", "Unknown option '--minuets'"],
    ["endurance --minutes long", '--minutes must be a number from 0.05 to 1440; got "long"'],
    ["chaos --rounds 1.5", '--rounds must be an integer from 1 to 1000; got "1.5"'],
    ["campaign --hours 0", '--hours must be a number from 0.01 to 1000000; got "0"'],
    ["campaign --seed -4", "--seed"],
    ["campaign --minutes 3", "--minutes has no effect on campaign"],
    ["--only a", "--only needs names, and exactly one part"],
    ["campaign --only a", "--only needs names, and exactly one part"],
  ])("%s is refused", (text, message) => {
    expect(() => parse(text)).toThrow(UsageError);
    expect(() => parse(text)).toThrow(message);
  });

  test("a chunk that --only does not know is refused with those that it knows", () => {
    expect(chosen(["a", "b"], [], "suite")).toEqual(["a", "b"]);
    expect(chosen(["a", "b"], ["b"], "suite")).toEqual(["b"]);
    expect(() => chosen(["a", "b"], ["c"], "suite")).toThrow("--only names c, which is not a suite: a, b");
  });
});

/** A part of `count` chunks. Each leaves its number. */
function partOf(count: number, atOnce = 1): Part {
  return {
    name: "tiny",
    summary: "a part for these tests",
    flags: ["rounds"],
    atOnce,
    begin: ({ seed = 100 }) => {
      const chunks = Array.from({ length: count }, (_, i) => ({ id: String(i), args: ["-e", String(seed + i)] }));
      return {
        seed,
        ...listed(chunks, "chunks"),
        conclude: (done) => ({
          isGreen: problemsOf(done).length === 0,
          length: `${done.size} chunks`,
          figures: `sum ${[...done.values()].reduce((sum, { data }) => sum + Number(data), 0)}`,
          problems: problemsOf(done),
        }),
      };
    },
  };
}

/** A chunk of `partOf`, done at once. */
function doneAs(chunk: Chunk, isGreen = true): Done {
  return { isGreen, data: Number(chunk.args[1]), figures: [], said: isGreen ? "" : "it is broken" };
}

describe("a part", () => {
  let printed = "";
  const stopping = { abort: new AbortController() };

  async function run(part: Part, launch: Lab["run"], more: Partial<Lab & LabOptions> = {}): Promise<Outcome> {
    printed = "";
    stopping.abort = new AbortController();
    const out = { write: (text: string) => (printed += text) };
    const state = new StateFolder(folder);
    const lab: Lab = { root, source: "s1", state, out, stop: stopping.abort.signal, run: launch!, ...more };
    return runPart(part, { ...OPTIONS, ...more }, lab);
  }

  test("runs every chunk once, several at a time, and concludes with all of them", async () => {
    let [running, most] = [0, 0];
    const launched: string[] = [];
    const outcome = await run(partOf(6, 2), async (chunk) => {
      launched.push(chunk.id);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return doneAs(chunk);
    });
    expect(outcome).toMatchObject({
      kind: "ended",
      conclusion: { isGreen: true, length: "6 chunks", figures: "sum 615" },
    });
    expect([launched.sort(), most]).toEqual([["0", "1", "2", "3", "4", "5"], 2]);
  });

  test("interrupted, it runs only what is missing next time, from the same seed, and then not at all", async () => {
    const first: string[] = [];
    const interrupted = await run(
      partOf(4),
      async (chunk) => {
        first.push(chunk.id);
        if (chunk.id !== "2") return doneAs(chunk);
        // Ctrl-C in the middle of the third.
        stopping.abort.abort();
        return undefined;
      },
      { seed: 500 },
    );
    expect([interrupted.kind, first]).toEqual(["interrupted", ["0", "1", "2"]]);
    expect(printed).toContain("interrupted after 0 s: 2 of 4 chunks; the same command continues");

    const second: string[] = [];
    const launch: Lab["run"] = async (chunk) => {
      second.push(chunk.id);
      return doneAs(chunk);
    };
    const ended = await run(partOf(4), launch);
    expect([second, printed]).toEqual([["2", "3"], expect.stringContaining("continues; done before: 2 chunks")]);
    expect(ended).toMatchObject({ kind: "ended", wasDone: false, conclusion: { figures: "sum 2006" } });

    const again = await run(partOf(4), launch);
    expect([second.length, again]).toMatchObject([2, { wasDone: true, conclusion: { figures: "sum 2006" } }]);
  });

  test("starts from the beginning on another source or with other flags", async () => {
    const launched: string[] = [];
    const launch: Lab["run"] = async (chunk) => {
      launched.push(chunk.id);
      return doneAs(chunk);
    };
    await run(partOf(2), launch);
    await run(partOf(2), launch, { source: "s2" });
    expect(launched).toHaveLength(4);
    await run(partOf(2), launch, { source: "s2", rounds: 2 });
    expect(launched).toHaveLength(6);
    // A flag that does not belong to this part.
    await run(partOf(2), launch, { source: "s2", rounds: 2, minutes: 9 });
    expect(launched).toHaveLength(6);
  });

  test("a chunk that failed fails the part, and is the one that is run again", async () => {
    const failed = await run(partOf(3), async (chunk) => doneAs(chunk, chunk.id !== "1"));
    expect(failed).toMatchObject({ conclusion: { isGreen: false, problems: ["1 failed:\nit is broken"] } });
    const launched: string[] = [];
    const fixed = await run(partOf(3), async (chunk) => {
      launched.push(chunk.id);
      return doneAs(chunk);
    });
    expect([launched, fixed]).toMatchObject([["1"], { conclusion: { isGreen: true } }]);
  });

  test("a truncated state file is ignored", async () => {
    await run(partOf(2), async (chunk) => doneAs(chunk));
    writeFileSync(join(folder, "tiny.json"), readFileSync(join(folder, "tiny.json"), "utf8").slice(0, 40));
    const launched: string[] = [];
    await run(partOf(2), async (chunk) => {
      launched.push(chunk.id);
      return doneAs(chunk);
    });
    expect(launched).toEqual(["0", "1"]);
  });
});

describe("a chunk", () => {
  const never = new AbortController().signal;
  const place = (stop = never, onProgress: (fraction: number) => void = () => {}) => ({
    root,
    folder,
    stop,
    onProgress,
  });

  test("leaves its result, its figures and its progress", async () => {
    const program = `
      const { appendFileSync, writeFileSync } = require("node:fs");
      writeFileSync(process.env.SLUICE_LAB_RESULT, JSON.stringify({ mark: process.env.MARK }));
      appendFileSync(process.env.SLUICE_LAB_FIGURES, JSON.stringify("7 | of 8") + "\\n");
      console.log("at 0.5");`;
    const seen: number[] = [];
    const chunk = {
      id: "a b/c",
      args: ["-e", program],
      env: { MARK: "m" },
      progressOf: (line: string) => (line.startsWith("at ") ? Number(line.slice(3)) : undefined),
    };
    const done = await runChunk(
      chunk,
      place(never, (fraction) => seen.push(fraction)),
    );
    expect(done).toEqual({ isGreen: true, data: { mark: "m" }, figures: ["7 | of 8"], said: "" });
    expect([seen, readFileSync(join(folder, "a_b_c.log"), "utf8")]).toEqual([[0.5], "at 0.5\n"]);
  });

  test("that fails or does not end is reported with the end of its output", async () => {
    const failing = { id: "f", args: ["-e", 'console.error("the reason"); process.exit(3)'] };
    expect(await runChunk(failing, place())).toMatchObject({ isGreen: false, data: null, said: "the reason" });
    const endless = { id: "e", args: ["-e", "for (;;);"], timeoutMs: 300 };
    expect(await runChunk(endless, place())).toMatchObject({ isGreen: false, said: "ended after 0.3 s" });
  });

  test("that is stopped leaves nothing, and nothing of it runs on", async () => {
    const stopping = new AbortController();
    const pidFile = join(folder, "pid");
    const program = `
      const { spawn } = require("node:child_process");
      const child = spawn("sleep", ["600"]);
      require("node:fs").writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
      setInterval(() => {}, 1000);`;
    const running = runChunk({ id: "s", args: ["-e", program] }, place(stopping.signal));
    const pid = await poll("its child", () => existsSync(pidFile) && Number(readFileSync(pidFile, "utf8")));
    stopping.abort();
    expect(await running).toBeUndefined();
    await poll(
      "the end of its child",
      () => !existsSync(`/proc/${pid}`) || /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8")),
    );
  });
});

describe("the progress line", () => {
  test("says what is done and, from the speed of this session, what is left", () => {
    let [nowMs, done] = [0, 40];
    const line = new ProgressLine(
      { write: () => {} },
      "tiny",
      () => ({ done, total: 100, text: `${done} of 100 things` }),
      () => nowMs,
    );
    line.end();
    expect(line.text()).toBe("tiny            40 of 100 things, 0 s, estimating");
    [nowMs, done] = [60_000, 50];
    // 10 in a minute: 50 are left.
    expect(line.text()).toBe("tiny            50 of 100 things, 60 s, about 5 min left");
    expect([timeText(99_000), timeText(100_000), timeText(7_200_000)]).toEqual(["99 s", "2 min", "2.0 h"]);
  });
});

describe("the report", () => {
  const row = (part: string, figures: string) => ({
    part,
    date: "2026-11-18",
    commit: "1a2b3c4",
    length: "3 suites (2 min)",
    figures,
    verdict: "held",
  });

  test("has a row per part in the order of the lab, and keeps those of parts that were not run", () => {
    const page = join(folder, "lab.md");
    writeRows(page, [row("second", "5 of 5"), row("first", "old")], ["first", "second"]);
    writeRows(page, [row("first", "a | b,\nand more")], ["first", "second"]);
    expect(rowsOf(readFileSync(page, "utf8"))).toEqual([row("first", "a / b, and more"), row("second", "5 of 5")]);
  });

  test("a situation is expected from a campaign if it was met often enough in the last one of the lab", () => {
    const page = [
      "2,000 worlds from seed 7, 300 simulated cluster-hours",
      "| mark | what happened | times | worlds |",
      "| breaker-opened | … | 9,000 | 1,000 |",
      "| breaker-closed | … | 9,000 | 199 |",
    ].join("\n");
    expect(expectedMarks(200, page)).toEqual(["breaker-opened"]);
    expect(expectedMarks(201 * 2, page)).toEqual(["breaker-opened", "breaker-closed"]);
  });
});

describe("the source", () => {
  test("is another one when a file changes, and the same when only texts do", () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@localhost", ...args], { cwd: folder });
    const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
    git("init", "--quiet");
    mkdirSync(join(folder, "docs"));
    write("a.ts", "1");
    git("add", ".");
    git("commit", "--quiet", "--message", "first");
    const { hash, commit } = sourceOf(folder);
    expect(commit).toMatch(/^[0-9a-f]{7}$/);
    write("docs/lab.md", "a report");
    write("README.md", "a text");
    expect(sourceOf(folder)).toMatchObject({ hash, commit });
    write("a.ts", "2");
    const changed = sourceOf(folder);
    expect(changed).toMatchObject({ hash: expect.not.stringContaining(hash), commit: `${commit} with changes` });
    write("b.ts", "new");
    expect(sourceOf(folder).hash).not.toBe(changed.hash);
    rmSync(join(folder, "b.ts"));
    rmSync(join(folder, "a.ts"));
    expect([hash, changed.hash]).not.toContain(sourceOf(folder).hash);
  });
});

describe("a chunk of the campaign", () => {
  test("counts its worlds, and in how many of them each situation came up", async () => {
    const args = ["--import", "tsx", "scripts/lab/campaign-chunk.ts", JSON.stringify({ first: 5, count: 2 })];
    const stop = new AbortController().signal;
    const done = await runChunk({ id: "worlds", args }, { root, folder, stop, onProgress: () => {} });
    const { totals, worldsWith, failures } = done!.data as CampaignChunk;
    expect(totals.worlds).toBe(2);
    expect(done!.isGreen).toBe(failures.length === 0);
    for (const [mark, worlds] of Object.entries(worldsWith)) {
      expect(worlds, mark).toBeLessThanOrEqual(Math.min(2, totals.marks[mark as keyof typeof worldsWith]));
    }
    expect(Math.max(...Object.values(worldsWith))).toBeGreaterThan(0);
  });
});

describe("npm run lab", () => {
  /** Three chunks. Each adds a line to `ran`; the second waits until `go` is there. */
  const PARTS_TEXT = `
    import { listed, problemsOf } from ${JSON.stringify(join(root, "scripts/lab/part.ts"))};
    const program = (i) => \`
      const { appendFileSync, existsSync } = require("node:fs");
      appendFileSync("\${process.env.HERE}/ran", "\${i}\\\\n");
      const wait = () => (\${i} === 1 && !existsSync("\${process.env.HERE}/go") ? setTimeout(wait, 20) : undefined);
      wait();\`;
    const chunks = [0, 1, 2].map((i) => ({ id: String(i), args: ["-e", program(i)] }));
    export const PARTS = [{
      name: "tiny", summary: "for tests", flags: [], atOnce: 1,
      begin: () => ({
        seed: 1,
        ...listed(chunks, "chunks"),
        conclude: (done) => ({ isGreen: true, length: "3 chunks", figures: done.size + " done", problems: problemsOf(done) }),
      }),
    }];`;

  function lab(...args: string[]) {
    const env = {
      ...process.env,
      HERE: folder,
      SLUICE_LAB_STATE: join(folder, "state"),
      SLUICE_LAB_PAGE: join(folder, "lab.md"),
      SLUICE_LAB_PARTS: join(folder, "parts.mts"),
    };
    writeFileSync(env.SLUICE_LAB_PARTS, PARTS_TEXT);
    const child = spawn(process.execPath, ["--import", "tsx", "scripts/lab/main.ts", ...args], { cwd: root, env });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString();
    });
    const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
      child.once("close", (code) => resolve({ code, out, err })),
    );
    return { child, ended };
  }

  const ran = () => (existsSync(join(folder, "ran")) ? readFileSync(join(folder, "ran"), "utf8") : "");

  test("stops at Ctrl-C, continues with the same command, writes its row, and does not run again what is done", async () => {
    const first = lab("tiny");
    await poll("the second chunk", () => ran() === "0\n1\n", 30_000);
    first.child.kill("SIGINT");
    const interrupted = await first.ended;
    expect(interrupted).toMatchObject({
      code: 130,
      out: expect.stringContaining("1 of 3 chunks; the same command continues"),
    });
    expect(existsSync(join(folder, "lab.md"))).toBe(false);
    expect((await lab("--list").ended).out).toBe("tiny            for tests [interrupted, 1 chunks done]\n");

    writeFileSync(join(folder, "go"), "");
    const second = await lab("tiny").ended;
    expect(second).toMatchObject({ code: 0, err: "" });
    expect([ran(), second.out]).toEqual(["0\n1\n1\n2\n", expect.stringMatching(/^ok {4}tiny: 3 chunks; 3 done \(/m)]);
    const [row] = rowsOf(readFileSync(join(folder, "lab.md"), "utf8"));
    expect(row).toMatchObject({
      part: "tiny",
      figures: "3 done",
      verdict: "held",
      length: expect.stringContaining("3 chunks"),
    });

    expect((await lab().ended).out).toContain("(done before, --fresh runs it again)");
    expect(ran()).toBe("0\n1\n1\n2\n");
    await lab("--fresh").ended;
    expect(ran()).toBe("0\n1\n1\n2\n0\n1\n2\n");
  });

  test("a mistake in the arguments ends it with 2, a message and the usage", async () => {
    const { code, out, err } = await lab("tiny", "--hours", "many").ended;
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/^error: --hours must be a number from 0.01 to 1000000; got "many"\n\nnpm run lab -- /);
  });
});
