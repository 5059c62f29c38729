/** Refuses options with unknown names, and suggests the nearest known name. */
import { SluiceError } from "./errors.ts";

/** Throws if `options` is not an object or has an unknown name; the message suggests the nearest known one. */
export function checkKnown(options: object, known: readonly string[], field = "options"): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new SluiceError("RL_OPTIONS_INVALID", field, options);
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const near = known.find((one) => isNear(one.toLowerCase(), name.toLowerCase()));
    const hint = near === undefined ? `; known options: ${known.join(", ")}` : `; did you mean ${near}?`;
    throw new SluiceError("RL_OPTIONS_INVALID", field, name, { hint });
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
