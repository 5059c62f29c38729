/**
 * How long a suite runs: seconds for `npm test`, at most a minute with CI=true, as long as it takes in the lab (`npm run lab`). A suite
 * of `npm run test:fast` may have a length for it that is below the short one.
 *
 * test:fast and the lab set SLUICE_LENGTH; the lab collects the figures that a suite reports.
 */
import { appendFileSync } from "node:fs";

type Length = "fast" | "short" | "ci" | "lab";

const given = process.env["SLUICE_LENGTH"];
export const LENGTH: Length =
  given === "lab" || given === "fast" ? given : process.env["CI"] === "true" ? "ci" : "short";

/** `fast` is the short length where a suite does not state one. */
export function byLength<T>(lengths: Readonly<Record<Exclude<Length, "fast">, T>> & { readonly fast?: T }): T {
  return LENGTH === "fast" ? (lengths.fast ?? lengths.short) : lengths[LENGTH];
}

/** Prints a figure, and adds it to the report of the lab. */
export function figure(text: string): void {
  console.log(text);
  const file = process.env["SLUICE_LAB_FIGURES"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(text)}\n`);
}
