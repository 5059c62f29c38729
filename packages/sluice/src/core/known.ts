/** Names that are known, and the nearest one to a name that is not. */
import { SluiceError } from "./errors.ts";

/** Refuses what is not an object, and any name that is not known, with the nearest one that is. */
export function checkKnown(options: object, known: readonly string[], field = "options"): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new SluiceError("RL_OPTIONS_INVALID", field, options);
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const near = known.find((one) => isNear(one.toLowerCase(), name.toLowerCase()));
    const hint = near === undefined ? `; known are ${known.join(", ")}` : `; did you mean ${near}?`;
    throw new SluiceError("RL_OPTIONS_INVALID", field, name, hint);
  }
}

/** One letter missing, added or changed, or the ends of both agree. */
function isNear(a: string, b: string): boolean {
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return Math.max(a.length, b.length) - start - end <= 2 && start + end >= 3;
}
