/** The planner, as a user has it: the built command, run as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const command = join(root, "packages", "server", "bin", "sluice.mjs");

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(args: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [command, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  return { child, ended: new Promise((resolve) => child.on("close", (code) => resolve({ code, out, err }))) };
}

function sluice(...args: string[]): Promise<Ended> {
  return start(args).ended;
}

/** Over in a moment, and yet with two regions that tell each other, and denials. */
const TINY = [
  "--regions",
  "2",
  "--processes",
  "2",
  "--limit",
  "40",
  "--duration",
  "10s",
  "--global-min",
  "5s",
  "--windows",
  "2",
];

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-planner-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("sluice simulate", () => {
  test("takes every flag, and plans with what it was told", async () => {
    const flags = {
      regions: 2,
      processes: 3,
      limit: 30,
      duration: "4s",
      load: 1.5,
      shape: "burst",
      mode: "both",
      flush: "20ms",
      publish: "200ms",
      import: "300",
      floor: 0.1,
      "global-min": "2s",
      "origin-rtt": "2ms",
      "global-rtt": "10ms",
      faults: "origin,link-cut",
      "fault-every": "1s",
      windows: 2,
      seed: 9,
      attack: "none",
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const { code, out } = await sluice("simulate", ...args, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out).plan).toEqual({
      ...flags,
      duration: 4_000,
      flush: 20,
      publish: 200,
      import: 300,
      "global-min": 2_000,
      "origin-rtt": 2,
      "global-rtt": 10,
      "fault-every": 1_000,
    });
    const { out: help } = await sluice("simulate", "--help");
    const inHelp = [...help.matchAll(/^ {2}--([a-z-]+) </gm)].map(([, name]) => name);
    expect([...Object.keys(flags), "file", "html"].sort()).toEqual(inHelp.sort());
  });

  test("reports as JSON: the figures, each of its kind, and a bound that holds", async () => {
    const { code, out } = await sluice("simulate", ...TINY, "--json");
    expect(code).toBe(0);
    const report = JSON.parse(out);
    expect(report).toMatchObject({ falseDenials: 0, partial: false, problem: null });
    for (const name of ["admittedOverLimit", "worstExcess", "bound", "convergenceMs"]) {
      expect(report[name], name).toBeTypeOf("number");
    }
    const windows: { asked: number; admitted: number; denied: number }[] = report.windows;
    expect(windows).toHaveLength(2);
    expect(windows.every(({ asked, admitted, denied }) => asked === admitted + denied)).toBe(true);
    expect(report.admittedOverLimit).toBe(Math.max(...windows.map(({ admitted }) => admitted / 40)));
    expect(report.admittedOverLimit).toBeGreaterThan(0.9);
    expect(report.worstExcess).toBeLessThanOrEqual(report.bound);
    expect(report.convergenceMs).toBeGreaterThan(0);
    expect(report.convergenceMs).toBeLessThanOrEqual(report.convergencePromisedMs);
    expect(report.perSecond.redisCommands).toBeGreaterThanOrEqual(report.perSecond.redisCalls);
    // Four processes, each of which publishes and imports once a second.
    expect(report.perSecond.sqlStatements).toBeGreaterThan(5);
    expect(report.perSecond.sqlStatements).toBeLessThan(12);
  });

  test("reports as text: a table, a plot with the limit in it, figures and advice; the same again with the same seed", async () => {
    const [{ code, out }, again, other] = [
      await sluice("simulate", ...TINY, "--seed", "5"),
      await sluice("simulate", ...TINY, "--seed", "5"),
      await sluice("simulate", ...TINY, "--seed", "6"),
    ];
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}window +requested +admitted +÷ limit +denied +false denials +degraded$/m);
    expect(out).toMatch(/┤.*┄/);
    for (const name of ["worst window", "worst excess", "false denials", "time to converge", "Redis", "SQL"]) {
      expect(out).toMatch(new RegExp(`^ {2}${name} {2,}\\S`, "m"));
    }
    expect(out).toMatch(/^Advice/m);
    expect(again.out).toBe(out);
    expect(other.out).not.toBe(out);
  });

  test("a herd arrives everywhere at one instant: each process admits what it alone has room for, and E says so", async () => {
    const { code, out } = await sluice("simulate", ...TINY, "--shape", "herd", "--load", "4", "--json");
    expect(code).toBe(0);
    const { windows, worstExcess, bound, advice, problem } = JSON.parse(out);
    // Four processes get 40 requests each, with a limit of 40. The first request of each is a call. In each region the second call finds the
    // cost of the first, so its process admits 39. In the next window the share of this one fills the limit.
    expect(windows.map(({ admitted }: { admitted: number }) => admitted)).toEqual([2 * (40 + 39), 0]);
    expect({ worstExcess, problem }).toEqual({ worstExcess: 158 - 40, problem: null });
    // For a process that admitted 39: what the three others admitted, the floor of the other region (0.01 of 40, rounded up) and 1 for rounding.
    expect(bound).toBe(158 - 39 + 1 + 1);
    expect(advice.map(({ rule }: { rule: string }) => rule)).toContain("herd-outruns-news");
  });

  test("a denial that comes late is told after ten seconds, and that is what is promised", async () => {
    // Seen: 3.1 s were promised whatever the mode, and a region learned of the denial after 10 s; nobody compared the two.
    const flags = "--mode denials --shape one --load 1.02 --limit 300 --windows 1 --seed 1";
    const { code, out } = await sluice("simulate", ...flags.split(" "), "--json");
    expect(code).toBe(0);
    const { convergenceMs, convergencePromisedMs, problem } = JSON.parse(out);
    expect(problem).toBeNull();
    expect(convergenceMs).toBeGreaterThan(5_000);
    expect(convergenceMs).toBeLessThanOrEqual(convergencePromisedMs);
  });

  test.each([
    "--limit 100 --windows 2 --origin-rtt 250ms --regions 1",
    "--limit 100 --windows 2 --origin-rtt 1s --flush 5ms --regions 1",
    "--limit 100 --windows 2 --origin-rtt 1s --duration 1s --regions 2 --processes 3 --load 5",
    // Here the views changed for longer than was promised: a breaker had opened over late reads.
    "--limit 119 --windows 4 --origin-rtt 400ms --duration 4s --regions 1 --flush 26ms --shape burst --load 2 --seed 33",
  ])("an origin far away degrades answers, and is no defect of Sluice: %s", async (flags) => {
    // Seen: exit 1 and "liveness: degraded long after the last fault", as if there were something to report.
    const { code, out } = await sluice("simulate", ...flags.split(" "), "--json");
    const { problem, windows } = JSON.parse(out);
    expect({ code, problem }).toEqual({ code: 0, problem: null });
    expect(windows.some(({ degraded }: { degraded: number }) => degraded > 0)).toBe(true);
  });

  test("a table that is shortened keeps the worst window", async () => {
    const flags = "--regions 1 --processes 4 --limit 20 --duration 1s --windows 30 --shape steady --load 1 --seed 5";
    const [{ out: text }, { out: json }] = [
      await sluice("simulate", ...flags.split(" ")),
      await sluice("simulate", ...flags.split(" "), "--json"),
    ];
    const windows: { fromMs: number; admitted: number }[] = JSON.parse(json).windows;
    const worst = windows.reduce((a, b) => (b.admitted > a.admitted ? b : a));
    expect(text).toContain(" more");
    // Else this run shows nothing.
    expect(worst.fromMs).toBeGreaterThan(8_000);
    expect(worst.fromMs).toBeLessThan(22_000);
    expect(text).toMatch(new RegExp(`^ {2}${worst.fromMs / 1_000}s +\\d+ +${worst.admitted} `, "m"));
    const gaps = [...text.matchAll(/… (\d+) more/g)].map(([, count]) => Number(count));
    const shown = text.match(/^ {2}\d+m?s( +[\d.]+){6}$/gm);
    expect(gaps.reduce((sum, count) => sum + count, 0) + shown!.length).toBe(30);
  });

  test("takes a plan from a file, and flags before it", async () => {
    const path = fileWith(
      "plan.yaml",
      "regions: 1\nlimit: 25\nduration: 2s\nwindows: 2\nfaults: [clocks, origin-errors]\n",
    );
    const { code, out } = await sluice("simulate", "--file", path, "--limit", "35", "--json");
    expect(code).toBe(0);
    const { plan } = JSON.parse(out);
    expect(plan).toMatchObject({ regions: 1, limit: 35, duration: 2_000, windows: 2, processes: 2 });
    expect(plan.faults).toBe("clocks,origin-errors");
  });

  test("writes a page that is well-formed and asks for nothing from outside", async () => {
    const path = join(folder, "plan.html");
    const { code, out, err } = await sluice("simulate", ...TINY, "--html", path);
    expect(code).toBe(0);
    expect(out).toMatch(/^Plan: /);
    expect(err).toContain(`wrote ${path}`);
    const page = readFileSync(path, "utf8");
    expect(openTags(page)).toEqual([]);
    expect(page.match(/<svg /g)).toHaveLength(2);
    expect(page).toMatch(/<polyline class="count" points="[\d., ]{200,}"/);
    expect(page).toContain("prefers-color-scheme: dark");
    expect(page).not.toMatch(/<script|\bon[a-z]+=|\b(?:src|href|srcset|action)\s*=|@import|url\(|https?:|\/\//i);
  });

  test("a page that cannot be written in the end is told, and the report is printed all the same", async () => {
    const { code, out, err } = await sluice("simulate", ...TINY, "--json", "--html", "/dev/full");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ partial: false, problem: null });
    expect(err).toContain(
      'error: the page could not be written to "/dev/full" (ENOSPC)\nhint: the report is printed above\n',
    );
  });

  test("a page is written through a link that leads nowhere yet, and the link stays", async () => {
    const link = join(folder, "link.html");
    symlinkSync(join(folder, "target.html"), link);
    expect((await sluice("simulate", ...TINY, "--html", link)).code).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, "target.html"), "utf8")).toContain("<!doctype html>");
  });

  test("by denials, traffic spread evenly over ten regions passes its limit; by counters it does not", async () => {
    const { code, out } = await sluice(
      "simulate",
      "--attack",
      "even-spread",
      "--regions",
      "10",
      "--processes",
      "1",
      "--windows",
      "1",
      "--json",
    );
    expect(code).toBe(0);
    const report = JSON.parse(out);
    const [denials, counters] = report.attack.runs;
    expect(denials.plan.mode).toBe("denials");
    expect(denials.admittedOverLimit).toBeGreaterThan(1.7);
    expect(denials.windows.every(({ denied }: { denied: number }) => denied === 0)).toBe(true);
    expect(counters.plan.mode).toBe("counters");
    expect(counters.admittedOverLimit).toBeLessThan(1.1);
    expect(report.admittedOverLimit).toBe(counters.admittedOverLimit);
    expect(denials.advice.map(({ rule }: { rule: string }) => rule)).toContain("denials-see-no-even-spread");
  });

  test.each([
    { signal: "SIGINT", exitCode: 130 },
    { signal: "SIGTERM", exitCode: 143 },
  ] as const)("says first that it takes long, and on $signal ends with what it has", async ({ signal, exitCode }) => {
    const { child, ended } = start(["simulate", "--limit", "100000", "--windows", "100", "--json"]);
    let err = "";
    child.stderr?.on("data", (chunk) => {
      err += chunk;
      if (!child.killed && err.includes("this plan takes about")) child.kill(signal);
    });
    const { code, out } = await ended;
    expect(err).toMatch(/^this plan takes about (\d+ minutes|\d+ hours): about [\d,]+ events, .*Ctrl-C/m);
    expect(code).toBe(exitCode);
    const report = JSON.parse(out);
    expect(report).toMatchObject({ partial: true, problem: null, convergenceMs: null });
    expect(report.windows[0].asked).toBeGreaterThan(0);
  });

  test("an attack that is ended in its first mode says that the other was not tried", async () => {
    const { child, ended } = start(["simulate", "--attack", "even-spread", "--limit", "10000", "--windows", "100"]);
    child.stderr?.once("data", () => child.kill("SIGINT"));
    const { code, out, err } = await ended;
    expect(code).toBe(130);
    expect(err).toContain("stopped before mode counters was simulated: this report covers only mode denials\n");
    expect(out).toContain("PARTIAL");
  });
});

describe("bad input", () => {
  test("ends the process with 2, with an error and a hint, and nothing on standard output", async () => {
    const { code, out, err } = await sluice("simulate", "--limit", "abc");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toBe('error: --limit must be an integer from 1 to 10000000; got "abc"\nhint: such as 1000\n');
  });

  test("sluice --version prints that of its package", async () => {
    const { version } = JSON.parse(readFileSync(join(root, "packages", "server", "package.json"), "utf8"));
    expect(await sluice("--version")).toEqual({ code: 0, out: `${version}\n`, err: "" });
  });

  test.each([
    { args: [], says: "a command is missing", hint: "simulate" },
    { args: ["simualte"], says: "unknown command 'simualte'", hint: "Did you mean simulate?" },
  ])("sluice $args: says what is wrong, and ends with 2", async ({ args, says, hint }) => {
    const { code, out, err } = await sluice(...args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`error: ${says}`);
    expect(err).toContain(hint);
  });
});

describe("docs/planner.md", () => {
  const page = readFileSync(join(root, "docs", "planner.md"), "utf8");

  test("has every flag of the help in its table, word for word, and no other", async () => {
    const { out } = await sluice("simulate", "--help");
    const inPage = [...page.matchAll(/^\| `(--[^`]+)` +\| (.*?) +\| (.*?) +\| (.*?) +\|$/gm)].map(
      ([, flag, means, rule, initial]) => `${flag} ${means}${rule === "" ? "" : ` (${rule}; default ${initial})`}`,
    );
    expect(inPage).toEqual(entriesOf(out));
  });
});

/** The flags of a help text, each with what it says on one line. */
function entriesOf(help: string): string[] {
  const entries: string[] = [];
  for (const line of help.slice(help.indexOf("Options:")).split("\n").slice(1)) {
    if (/^ {2}-/.test(line)) entries.push(line.trim().replace(/ {2,}/, " "));
    else if (line.trim() !== "") entries.push(`${entries.pop()} ${line.trim()}`);
  }
  return entries.filter((entry) => entry.startsWith("--"));
}

/** The tags left open at the end of a page, or the first that closes what was not open. */
function openTags(page: string): string[] {
  const open: string[] = [];
  for (const [, slash, name = "", rest = ""] of page.matchAll(
    /<(\/?)([a-z0-9]+)((?:\s+[a-zA-Z0-9-]+="[^"<>]*")*\s*\/?)>/g,
  )) {
    if (rest.endsWith("/")) continue;
    if (slash === "") open.push(name);
    else if (open.pop() !== name) return [`</${name}>`];
  }
  const text = page.replaceAll(/<\/?[a-z0-9]+(?:\s+[a-zA-Z0-9-]+="[^"<>]*")*\s*\/?>|<!doctype html>/g, "");
  return /[<>]/.test(text) ? ["a stray < or >"] : open;
}
