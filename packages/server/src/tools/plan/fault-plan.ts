/** What `--faults` takes: groups, single kinds and scripts, in any mixture, with commas between. */
import { FAULT_KINDS, type FaultKind } from "@sluice/sim";
import { nearest } from "sluice/internal";
import type { FaultPlan, Script } from "./plan.ts";

const GROUPS: Readonly<Record<string, (kind: FaultKind) => boolean>> = {
  none: () => false,
  all: () => true,
  messages: (kind) => kind.startsWith("message") || kind === "reply-lost",
  links: (kind) => kind.startsWith("link"),
  origin: (kind) => kind.startsWith("origin"),
  global: (kind) => kind.startsWith("global"),
  processes: (kind) => kind.startsWith("process"),
  clocks: (kind) => kind.startsWith("clock"),
};

const SCRIPTS: readonly Script[] = ["origin-flushed-every-20-s", "origin-away-half-the-time"];

export const FAULT_GROUP_NAMES: readonly string[] = Object.keys(GROUPS);
const FAULT_WORDS: readonly string[] = [...FAULT_GROUP_NAMES, ...SCRIPTS, ...FAULT_KINDS];

export function readFaults(value: unknown): FaultPlan | undefined {
  const words = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : undefined;
  if (words === undefined || words.length === 0) return undefined;
  const kinds = new Set<FaultKind>();
  let script: Script = "none";
  for (const word of words.map((item) => (typeof item === "string" ? item.trim() : ""))) {
    if (!FAULT_WORDS.includes(word)) return undefined;
    if ((SCRIPTS as readonly string[]).includes(word)) {
      // One script is all a world has.
      if (script !== "none" && script !== word) return undefined;
      script = word as Script;
    }
    const isOf = GROUPS[word] ?? ((kind: FaultKind) => kind === word);
    for (const kind of FAULT_KINDS.filter(isOf)) kinds.add(kind);
  }
  return { kinds: [...kinds], script, text: words.join(",").replaceAll(" ", "") };
}

/** The first word that is not known, with the one that was probably meant. */
export function faultHint(value: unknown): string {
  const words = Array.isArray(value) ? value.map(String) : typeof value === "string" ? value.split(",") : [];
  const unknown = words.map((word) => word.trim()).find((word) => !FAULT_WORDS.includes(word));
  const near = unknown === undefined ? undefined : nearest(unknown, FAULT_WORDS);
  if (near !== undefined) return `did you mean ${near}?`;
  return `single faults are ${FAULT_KINDS.join(", ")}; scripts are ${SCRIPTS.join(" and ")} (at most one)`;
}
