/** Whether the settings of convergence suit each other. It warns about values that are valid but probably a mistake. */
import type { ServerSettings } from "../../config/settings.ts";
import { type Finding, ok, warn } from "./finding.ts";

type Checked = Pick<ServerSettings, "convergence" | "redisUrl" | "sqlUrl" | "workers" | "closeTimeoutMs">;

/** The shortest window there is. */
const WINDOW_MIN_MS = 1_000;

export function convergenceFindings(settings: Checked): readonly Finding[] {
  const found = [flushFinding(settings), roundsFinding(settings), floorFinding(settings), modeFinding(settings)];
  const warnings = [...found, closeFinding(settings)].filter((finding) => finding !== null);
  return warnings.length > 0 ? warnings : [ok("convergence", "the settings are consistent")];
}

/** A process learns of another one's cost after up to two flushes: its own and the other's. */
function flushFinding({ convergence, redisUrl, workers }: Checked): Finding | null {
  const { flushMs } = convergence;
  if ((redisUrl === null && workers === 1) || 2 * flushMs < WINDOW_MIN_MS) return null;
  const text = `flushMs is ${flushMs}: processes of a region receive each other's counts after up to ${2 * flushMs} ms, too late for windows of that length`;
  return warn("convergence", text, "set flushMs below 500, or use longer windows");
}

function roundsFinding({ convergence, sqlUrl }: Checked): Finding | null {
  const { publishMs, importMs, globalDurationMinMs, globalMode } = convergence;
  if (sqlUrl === null || globalMode === "denials" || 2 * (publishMs + importMs) <= globalDurationMinMs) return null;
  const text = `publishMs and importMs together are ${publishMs + importMs} ms, more than half of the shortest window that regions share (globalDurationMin, ${globalDurationMinMs} ms)`;
  return warn(
    "convergence",
    text,
    "each region would decide most of such a window alone: lower them, or raise globalDurationMin",
  );
}

/** With R regions the automatic floor is at most errorBudget / (2 (R - 1)), which is highest for two. */
function floorFinding({ convergence, sqlUrl }: Checked): Finding | null {
  const { floor, errorBudget, globalMode } = convergence;
  if (sqlUrl === null || globalMode === "denials" || floor === null || floor <= errorBudget / 2) return null;
  const text = `floor is ${floor}, above errorBudget / 2 = ${errorBudget / 2}: with R regions up to ${floor} × (R - 1) of a limit can be admitted without the other regions knowing`;
  return warn("convergence", text, "remove floor: it then follows errorBudget and the number of live regions");
}

function modeFinding({ convergence, sqlUrl }: Checked): Finding | null {
  if (sqlUrl === null || convergence.globalMode !== "denials") return null;
  const text =
    "globalMode is denials: traffic spread evenly over R regions can reach R times a limit before any of them denies";
  return warn("convergence", text, "use counters or both, unless you only need to stop abuse within one region");
}

function closeFinding({ closeTimeoutMs, redisUrl, sqlUrl }: Checked): Finding | null {
  if (closeTimeoutMs > 0 || (redisUrl === null && sqlUrl === null)) return null;
  return warn(
    "convergence",
    "closeTimeoutMs is 0: a shutdown does not wait until the stores have accepted the remaining counts",
    "remove closeTimeoutMs",
  );
}
