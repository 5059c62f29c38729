/** Mistakes in the global layer: publish, import, floor, denial channel. */
import type { FaultKind, WorldOptions } from "@sluice/sim";
import type { Canary } from "./canary.ts";

/** Regions that tell each other, in which only these things go wrong. */
const regions =
  (globalMode: WorldOptions["globalMode"], faults?: readonly FaultKind[]) =>
  (drawn: WorldOptions): Partial<WorldOptions> => ({
    hasGlobal: true,
    regions: Math.max(2, drawn.regions),
    globalMode,
    globalMinDuration: Math.max(1_000, drawn.publishMs),
    faults: faults ?? drawn.faults,
  });

export const GLOBAL_CANARIES: readonly Canary[] = [
  {
    name: "foreign-republished",
    breaks: "a region publishes what it has imported together with its own",
    patches: [
      {
        file: "global/publish.ts",
        find: "const count = table.regional(slot, at);",
        replace: "const count = table.regional(slot, at) + table.foreign(slot, at);",
      },
    ],
    noticedBy: ["lower bound"],
    world: regions("counters"),
  },
  {
    name: "floor-above-one-in-r",
    breaks: "a region keeps twice its fair part of the limit to itself",
    patches: [
      {
        file: "global/floor.ts",
        find: "return Math.min(1 / regionsLive, errorBudget / (2 * (regionsLive - 1)));",
        replace: "return (2 * Math.min(errorBudget, 1)) / errorBudget / regionsLive;",
      },
    ],
    noticedBy: ["excess"],
    world: (drawn) => ({ ...regions("counters", [])(drawn), floor: null }),
  },
  {
    name: "own-row-not-subtracted",
    breaks: "the region's own row is taken for what the others in the region have accepted",
    patches: [
      {
        file: "global/import.ts",
        find: "table.raiseOthers(slot, at, own - table.own(slot, at));",
        replace: "table.raiseOthers(slot, at, own);",
      },
    ],
    noticedBy: ["lower bound", "false denial"],
    world: regions("counters"),
  },
  {
    name: "own-row-imported-as-foreign",
    breaks: "the region's own row comes back as another region's",
    patches: [
      {
        file: "global/import.ts",
        find: "table.raiseForeign(slot, at, foreign);",
        replace: "table.raiseForeign(slot, at, foreign + own);",
      },
    ],
    noticedBy: ["lower bound", "false denial"],
    world: regions("counters"),
  },
  {
    name: "sequence-from-the-receivers-clock",
    breaks: "an imported row is counted in the window that the receiver's clock shows",
    patches: [
      {
        file: "global/import.ts",
        find: "const at = sequence as Sequence;",
        replace: "const at = (sequence * 0 + sequenceAt(this.#engine.clock.nowMs(), key.durationMs)) as Sequence;",
      },
    ],
    noticedBy: ["lower bound", "false denial"],
    world: regions("counters"),
  },
  {
    name: "published-before-it-was-sent",
    breaks: "a row counts as published when it is due, and is not looked for again, whether or not the store took it",
    patches: [
      {
        file: "global/publish.ts",
        find: "      entries.push({ slot, name, row:",
        replace: "      table.raisePublished(slot, at, count);\n      entries.push({ slot, name, row:",
      },
      {
        file: "global/import.ts",
        find: "    await this.#markUnseen();",
        replace: "    if (rest !== undefined) await this.#markUnseen();",
      },
    ],
    noticedBy: ["convergence", "excess"],
    world: regions("counters", ["global-deadlock", "global-away"]),
  },
  {
    name: "no-expiry-in-the-global-counters",
    breaks: "rows are published without an end",
    patches: [
      {
        file: "global/publish.ts",
        find: "const row = { key: name.key, sequence: at, count, expiresAtMs };",
        replace: "const row = { key: name.key, sequence: at, count, expiresAtMs: Number.MAX_SAFE_INTEGER };",
      },
    ],
    noticedBy: ["bounds"],
    world: regions("counters"),
  },
  {
    name: "denial-rows-counted-as-own",
    breaks: "a denial row adds to what this process itself has accepted",
    patches: [
      {
        file: "global/denial-channel.ts",
        find: "table.raiseForeign(slot, sequence, foreignLimit - table.regional(slot, sequence));",
        replace:
          "if (table.sequence(slot) === sequence) table.accept(slot, sequence, Math.max(0, foreignLimit - table.regional(slot, sequence)), foreignLimit);",
      },
    ],
    noticedBy: ["own", "lower bound", "monotone"],
    world: regions("denials"),
  },
  {
    name: "denial-follows-from-a-denial",
    breaks: "what a denial row has raised counts as used, in the window after it too, and a row follows from a row",
    patches: [
      {
        file: "global/denial-channel.ts",
        find: "const used = this.#engine.table.regional(slot, sequence);",
        replace:
          "const used = this.#engine.table.view(slot, sequence) + this.#engine.table.view(slot, (sequence - 1) as Sequence);",
      },
      {
        file: "global/denial-channel.ts",
        find: "reported.limit = Math.max(reported.limit, foreignLimit ?? -1, ownLimit ?? -1);",
        replace: "",
      },
    ],
    noticedBy: ["denial channel"],
    world: regions("denials"),
  },
  {
    name: "denial-raises-the-window-after",
    breaks: "a denial row raises the cell of the window that the receiver's clock shows",
    patches: [
      {
        file: "global/denial-channel.ts",
        find: "const sequence = cell.sequence as Sequence;",
        replace: "const sequence = Math.floor(this.#engine.clock.nowMs() / key.durationMs) as Sequence;",
      },
    ],
    noticedBy: ["lower bound", "false denial"],
    world: regions("denials"),
  },
  {
    name: "own-denial-row-inflates",
    breaks: "a region's own denial row raises the region's own cells, and what it had left of the limit is lost",
    patches: [
      {
        file: "global/denial-channel.ts",
        find: "const { key, foreignLimit, ownLimit } = cell;",
        replace: "const { key, ownLimit } = cell;\n    const foreignLimit = cell.foreignLimit ?? ownLimit;",
      },
    ],
    noticedBy: ["denial channel"],
    world: regions("denials"),
  },
];
