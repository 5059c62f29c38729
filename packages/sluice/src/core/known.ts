/** Refuses options with unknown names, and suggests the nearest known name. */
import { SluiceError } from "./errors.ts";
import { nearest } from "./nearest.ts";

/** Throws if `options` is not an object or has an unknown name; the message suggests the nearest known one. */
export function checkKnown(options: object, known: readonly string[], field = "options"): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new SluiceError("RL_OPTIONS_INVALID", field, options);
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    const hint = near === undefined ? `; known options: ${known.join(", ")}` : `; did you mean ${near}?`;
    throw new SluiceError("RL_OPTIONS_INVALID", field, name, { hint });
  }
}
