import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { runSluice } from "../rig/command-line.ts";

describe("bad input of sluice simulate", () => {
  const FILES: Readonly<Record<string, string>> = {
    "misspelt.yaml": "limt: 5\n",
    "broken.yaml": "limit: [1, 2\n",
    "list.yaml": "- 1\n- 2\n",
    "empty.yaml": "",
    "twice.yaml": "limit: 1\nlimit: 2\n",
    "alias.yaml": "a: &a [x]\nlimit: *a\n",
    "value.yaml": "limit: {a: 1}\n",
    "nan.yaml": "limit: .nan\n",
    "infinite.yaml": "load: .inf\n",
    "nothing.yaml": "faults: null\n",
    "list-key.yaml": "? [a, b]\n: 5\n",
    "tag.yaml": "limit: !!js/function x\n",
    "huge.yaml": `# ${"x".repeat(70_000)}\nlimit: 5\n`,
  };
  let folder = "";
  beforeAll(() => {
    folder = temporaryFolder();
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  });
  afterAll(() => removeFolder(folder));

  test.each([
    { args: "--limit abc", says: 'error: --limit must be an integer from 1 to 10000000; got "abc"' },
    { args: "--limit 1e3", says: 'got "1e3"', hint: 'write "1e3" in plain digits, such as 1000' },
    { args: "--limit 0", says: 'from 1 to 10000000; got "0"' },
    { args: "--limit", says: "--limit must be an integer from 1 to 10000000; got nothing" },
    { args: "--limit --json", says: '--limit must be an integer from 1 to 10000000; got "--json"' },
    { args: "--regions 101", says: '--regions must be an integer from 1 to 100; got "101"' },
    { args: "--regions 2.5", says: '--regions must be an integer from 1 to 100; got "2.5"' },
    { args: "--processes -1", says: '--processes must be an integer from 1 to 100; got "-1"' },
    {
      args: "--duration 5parsecs",
      says: '--duration must be whole milliseconds from 1s to 30d; got "5parsecs"',
      hint: '"10s", "5m"',
    },
    { args: "--duration 999", says: '--duration must be whole milliseconds from 1s to 30d; got "999"' },
    { args: "--load NaN", says: '--load must be a number from 0.01 to 100; got "NaN"' },
    { args: "--load Infinity", says: '--load must be a number from 0.01 to 100; got "Infinity"' },
    {
      args: "--shape evne",
      says: '--shape must be one of even, one, burst, steady, herd; got "evne"',
      hint: "did you mean even?",
    },
    {
      args: "--mode counter",
      says: '--mode must be one of counters, denials, both; got "counter"',
      hint: "did you mean counters?",
    },
    { args: "--flush 2s", says: '--flush must be from 5ms to 1s; got "2s"' },
    { args: "--publish 2m", says: '--publish must be from 100ms to --global-min (60000ms); got "2m"' },
    { args: "--import 1ms", says: '--import must be from 100ms to --global-min; got "1ms"' },
    { args: "--floor 2", says: '--floor must be a number from 0 to 1, or auto; got "2"' },
    { args: "--faults origni", says: "--faults must be a list of none, all", hint: "did you mean origin?" },
    {
      args: "--faults global --regions 1",
      says: '--faults must be without global faults if there is one region; got "global"',
    },
    { args: "--windows 0", says: '--windows must be an integer from 1 to 10000; got "0"' },
    { args: "--seed 4294967296", says: '--seed must be an integer from 0 to 4294967295; got "4294967296"' },
    { args: "--attack flood", says: '--attack must be one of none, even-spread; got "flood"' },
    { args: "--attack even-spread --regions 1", says: "--regions must be 2 or more with --attack even-spread; got 1" },
    { args: "--attack even-spread --shape one", says: '--shape must be even with --attack even-spread; got "one"' },
    { args: "--regions 100 --processes 100", says: "--processes must be at most 10 with 100 regions" },
    {
      args: "--limit 10000000 --windows 10",
      says: "at most 20000000 requests (load × limit × windows), not 200000000; got 10000000",
    },
    { args: "--regoins 3", says: "unknown option '--regoins'", hint: "Did you mean --regions?" },
    { args: "plan.yaml", says: "too many arguments for 'simulate'", hint: "--help" },
    {
      args: "--html {}/none/plan.html",
      says: "--html must be a file that can be written",
      hint: "a folder that exists",
    },
    { args: "--html {}", says: "--html must be a file that can be written", hint: "a folder that exists" },
    { args: "--html {}/huge.yaml/plan.html", says: 'huge.yaml/plan.html" (ENOTDIR)' },
    { args: `--html {}/${"a".repeat(300)}.html`, says: "(ENAMETOOLONG)" },
    {
      args: "--html /proc/plan.html",
      says: '--html must be a file that can be written; got "/proc/plan.html" (ENOENT)',
    },
    { args: "--duration 1500.5", says: '--duration must be whole milliseconds from 1s to 30d; got "1500.5"' },
    { args: "--regions", says: "--regions must be an integer from 1 to 100; got nothing" },
    { args: "--global-min", says: "--global-min must be from 1s to 30d; got nothing" },
    { args: "--global-rtt", says: "--global-rtt must be from 0ms to 2s; got nothing" },
    { args: "--file {}/none.yaml", says: "--file must be a file that can be read", hint: "YAML" },
    { args: "--file {}", says: "--file must be a file that can be read" },
    { args: "--file {}/misspelt.yaml", says: 'has an unknown key: "limt"', hint: "did you mean limit?" },
    { args: "--file {}/broken.yaml", says: "broken.yaml is not YAML" },
    { args: "--file {}/list.yaml", says: "must be a map of names to values; got [1,2]" },
    { args: "--file {}/empty.yaml", says: "must be a map of names to values; got null" },
    { args: "--file {}/twice.yaml", says: "twice.yaml is not YAML: Map keys must be unique" },
    { args: "--file {}/alias.yaml", says: "alias.yaml" },
    { args: "--file {}/value.yaml", says: 'value.yaml must be an integer from 1 to 10000000; got {"a":1}' },
    { args: "--file {}/value.yaml --limit 100", says: 'value.yaml must be an integer from 1 to 10000000; got {"a":1}' },
    { args: "--file {}/nan.yaml", says: "limit in {}/nan.yaml must be an integer from 1 to 10000000; got NaN" },
    { args: "--file {}/infinite.yaml", says: "must be a number from 0.01 to 100; got Infinity" },
    { args: "--file {}/nothing.yaml", says: "got null", hint: "single faults are" },
    { args: "--file {}/list-key.yaml", says: "list-key.yaml is not YAML: With stringKeys, all keys must be strings" },
    { args: "--file {}/tag.yaml", says: "tag.yaml is not YAML: Unresolved tag" },
    { args: "--file {}/huge.yaml", says: "--file must be a file of at most 65536 bytes" },
  ])("$args: says what is wrong, ends with 2 and prints no result", async ({ args, says, hint = "" }) => {
    const { code, out, errors } = await runSluice(["simulate", ...args.replaceAll("{}", folder).split(" ")], {});
    const [error = "", hinted = "", ...more] = errors.split("\n");
    expect(error.replaceAll(folder, "{}")).toContain(says);
    expect(error).toMatch(/^error: .+$/);
    expect(hinted).toMatch(/^hint: .+$/);
    expect(hinted).toContain(hint);
    expect([code, out, more]).toEqual([2, "", []]);
  });
});
