/** Every canary that ends a hunt by itself, by name. */
import { ADMIT_CANARIES } from "./admit-canaries.ts";
import { AUDIT_CANARIES } from "./audit-canaries.ts";
import type { Canary } from "./canary.ts";
import { ALARMED_CANARIES } from "./checker-canaries.ts";
import { ENGINE_CANARIES } from "./engine-canaries.ts";
import { GLOBAL_CANARIES } from "./global-canaries.ts";
import { ORIGIN_CANARIES } from "./origin-canaries.ts";

export const CANARIES: readonly Canary[] = [
  ...ENGINE_CANARIES,
  ...ORIGIN_CANARIES,
  ...ADMIT_CANARIES,
  ...GLOBAL_CANARIES,
  ...AUDIT_CANARIES,
  ...ALARMED_CANARIES,
];

export function canaryNamed(wanted: string): Canary {
  const found = CANARIES.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no canary is called ${wanted}`);
  return found;
}
