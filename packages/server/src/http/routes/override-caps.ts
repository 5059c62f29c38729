/** How many overrides there may be, and stars in their patterns: every server holds them all in memory, and tries them. */
import type { OverrideUse } from "../../admin/directory.ts";

export interface OverrideCaps {
  readonly namespace: OverrideUse;
  readonly workspace: OverrideUse;
}
