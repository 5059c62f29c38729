/**
 * How long a suite runs: seconds for `npm test`, at most a minute with CI=true, as long as it takes in the lab (`npm run lab`).
 *
 * The lab sets SLUICE_LENGTH and collects the figures that a suite reports.
 */
import { appendFileSync } from "node:fs";

type Length = "short" | "ci" | "lab";

export const LENGTH: Length =
  process.env["SLUICE_LENGTH"] === "lab" ? "lab" : process.env["CI"] === "true" ? "ci" : "short";

export function byLength<T>(lengths: Readonly<Record<Length, T>>): T {
  return lengths[LENGTH];
}

/** Prints a figure, and adds it to the report of the lab. */
export function figure(text: string): void {
  console.log(text);
  const file = process.env["SLUICE_LAB_FIGURES"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(text)}\n`);
}
