/** What a server needs of the machine and of its own files: Node, open files, the data folder, a certificate that is valid. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import manifest from "../../../package.json" with { type: "json" };
import type { ServerSettings } from "../../config/settings.ts";
import { dataPlace } from "../../serve/data-dir.ts";
import { dataRisks } from "../../serve/data-risk.ts";
import { isClaimed } from "../../serve/folder-claim.ts";
import { checkFolder, FolderFailure } from "../../system/folder.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Beside connections: stores, the log, modules. */
const FILES_BESIDE = 100;
const DAY_MS = 86_400_000;
const CERTIFICATE_DAYS = 14;

export function nodeFinding(version: string): Finding {
  const needed = manifest.engines.node.replace(/^>=/, "");
  const [have, want] = [numbersOf(version), numbersOf(needed)];
  const isEnough = have[0]! > want[0]! || (have[0] === want[0] && have[1]! >= want[1]!);
  return isEnough ? ok("node", version) : fail("node", `${version} is too old`, `use Node ${needed} or later`);
}

function numbersOf(version: string): number[] {
  return version.split(".").map(Number);
}

/** @param limits the text of /proc/self/limits; undefined where there is none. */
export function filesFinding(limits: string | undefined, { api }: ServerSettings): Finding {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(limits ?? "") ?? [];
  if (soft === undefined) return ok("open files", "the limit cannot be read on this system");
  const needed = api.connectionsMax + FILES_BESIDE;
  if (soft === "unlimited" || Number(soft) >= needed) return ok("open files", `up to ${soft}`);
  const text = `up to ${soft}, and http.connectionsMax is ${api.connectionsMax}: a worker can run out of file descriptors`;
  return warn("open files", text, `allow ${needed} (ulimit -n, LimitNOFILE= of systemd), or fewer connections`);
}

export function readLimits(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined;
  }
}

/** Null: nothing is kept on this machine. Makes nothing. */
export async function dataFinding(settings: Pick<ServerSettings, "sqlUrl" | "dataDir">): Promise<Finding | null> {
  const place = dataPlace(settings);
  if (place === null) return null;
  const folder = resolve(place.folder);
  try {
    if (!checkFolder(folder)) return ok("data folder", `${folder} can be created`);
  } catch (error) {
    if (!(error instanceof FolderFailure)) throw error;
    const advice = "use a folder that this user can write to: --data DIR, SLUICE_DATA, or the path in sql.url";
    return fail("data folder", `it cannot be used: ${error.message}`, advice);
  }
  const [risk] = dataRisks(folder, resolve(place.database));
  if (risk === undefined) {
    const used = (await isClaimed(folder)) ? "; a server is using it" : "";
    return ok("data folder", `${folder} is writable${used}`);
  }
  return (risk.isRefused ? fail : warn)("data folder", risk.text, risk.advice);
}

export function certificateFinding({ api }: ServerSettings, wallMs: number): Finding | null {
  if (api.tls === null) return null;
  const endsMs = Date.parse(new X509Certificate(api.tls.cert).validTo);
  const days = Math.floor((endsMs - wallMs) / DAY_MS);
  const advice = "renew it, and restart the server";
  if (endsMs <= wallMs) return fail("certificate", `it expired on ${new Date(endsMs).toISOString()}`, advice);
  return days < CERTIFICATE_DAYS
    ? warn("certificate", `it expires in ${days} days`, advice)
    : ok("certificate", `valid for ${days} days`);
}
