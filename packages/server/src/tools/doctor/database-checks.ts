/**
 * What a server needs of its database: it answers soon, can be written, has the tables of this release, and lets this user read and
 * write each of them; its clock; how the region's name is used.
 *
 * Nothing is changed: rights are tried by statements that concern no row.
 */
import { existsSync } from "node:fs";
import { tablesOf } from "sluice/internal";
import { AdminSchemaError, adminTables, ensureAdminSchema } from "../../admin/admin-schema.ts";
import { openAdminLink, sqlitePath } from "../../admin/open-admin-store.ts";
import { type RunSql, SqlFailure, type SqlLink, type SqlRow } from "../../admin/sql-link.ts";
import type { ServerSettings } from "../../config/settings.ts";
import { countersOf } from "../../serve/stores.ts";
import { SYSTEM } from "../../system/system.ts";
import { type Finding, fail, medianMs, milliseconds, ok, skewFinding, warn } from "./finding.ts";
import type { DoctorClock } from "./redis-checks.ts";
import { regionFinding } from "./region-checks.ts";

const TIMES = 5;
/** Publishing and importing are once a second. */
const SLOW_MS = 100;
const MIGRATE =
  "a server creates them if its user may create tables; otherwise run sluice migrate as a user who may (docs/operating.md)";
const RIGHTS = "grant SELECT, INSERT, UPDATE and DELETE on it (docs/operating.md, Tables and migrations)";

const PACKET = "SELECT @@max_allowed_packet AS bytes";

/** Rows of counters have up to 6 kB, and a change of the admin store up to some ten kB with its line in the audit trail. */
const PACKET_MIN_BYTES = 64 * 1024;
/** 256 rows of 4 kB, as counts of long identifiers are sent at once. */
const PACKET_GOOD_BYTES = 1024 * 1024;

/** The tables of the counters, each with a column, for an UPDATE that changes no row. */
function counterTables(): Readonly<Record<string, string>> {
  const { counters, denials, regions, turns, origins } = tablesOf();
  return { [counters]: "region", [denials]: "region", [regions]: "region", [turns]: "name", [origins]: "region" };
}

export async function databaseFindings(settings: ServerSettings, clock: DoctorClock): Promise<Finding[]> {
  const { sqlUrl, sqlTls, dataDir } = settings;
  // The embedded store is this server's own: the data folder says whether it can be used.
  if (sqlUrl === null) return [ok("database", "not set: embedded store, no other regions")];
  // To open it would be to make it.
  if (sqlUrl.startsWith("sqlite:") && !existsSync(sqlitePath(sqlUrl))) {
    return [ok("database", `${sqlitePath(sqlUrl)} does not exist yet: a server creates it`)];
  }
  const link = await openAdminLink({ sqlUrl, dataDir, tls: sqlTls }, SYSTEM);
  try {
    return [...(await serverFindings(link, clock)), ...(await tableFindings(link, settings, clock))];
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    const advice =
      "start it, or correct sql.url; until then each region limits alone, and keys, namespaces and overrides cannot be changed";
    return [fail("database", `it cannot be used: ${error.message}`, advice)];
  } finally {
    await link.close();
  }
}

/** @throws SqlFailure where nothing can be asked at all. */
async function serverFindings(link: SqlLink, { wallMs, monoMs }: DoctorClock): Promise<Finding[]> {
  const query = <T>(work: (run: RunSql) => Promise<T>) => link.ask(work);
  await query((run) => run("SELECT 1 AS one"));
  const took = await medianMs(TIMES, monoMs, () => query((run) => run("SELECT 1 AS one")));
  const text = `${milliseconds(took)}, median of ${TIMES}`;
  const speed =
    took >= SLOW_MS
      ? warn("database round trip", text, "counts arrive later, and changes take longer: use a nearer database")
      : ok("database round trip", text);
  const { name, nowMs, isReadOnly } = link.dialect;
  if (isReadOnly === null) return [speed];
  const [replica] = await query((run) => run(isReadOnly));
  const isReplica = Number(replica?.["replica"]) !== 0 && replica?.["replica"] !== false;
  const writing = isReplica
    ? fail("database writing", "it is read-only: a replica, or configured so", "set sql.url to the primary")
    : ok("database writing", "writable, not a replica");
  const packet = name === "mysql" ? [packetFinding(await query((run) => run(PACKET)))] : [];
  const beganMs = monoMs();
  const [row] = await query((run) => run(`SELECT ${nowMs} AS now`));
  const tookMs = monoMs() - beganMs;
  const skewMs = Number(row?.["now"]) - (wallMs() - tookMs / 2);
  return [speed, writing, ...packet, skewFinding("database clock", skewMs, tookMs)];
}

function packetFinding([row]: readonly SqlRow[]): Finding {
  const bytes = Number(row?.["bytes"]);
  const text = `max_allowed_packet is ${Math.floor(bytes / 1024)} KiB`;
  if (bytes >= PACKET_GOOD_BYTES) return ok("database packets", text);
  const advice = "set max_allowed_packet to 1 MiB or more (the default is 16 MiB or 64 MiB)";
  return bytes < PACKET_MIN_BYTES
    ? fail(
        "database packets",
        `${text}: changes of keys and overrides, and counts of long identifiers, are refused`,
        advice,
      )
    : warn("database packets", `${text}: counts of long identifiers are sent in many small statements`, advice);
}

async function tableFindings(link: SqlLink, settings: ServerSettings, { wallMs }: DoctorClock): Promise<Finding[]> {
  const { records, audit, revision } = adminTables();
  const admin = await adminSchemaFinding(link);
  const counters = await counterSchemaFinding(settings);
  const tables = {
    ...(admin.status === "ok" ? { [records]: "revision", [audit]: "revision", [revision]: "revision" } : {}),
    ...(counters.status === "ok" ? counterTables() : {}),
  };
  const rights = Object.keys(tables).length === 0 ? [] : await rightFindings(link, tables);
  const mayRead = counters.status === "ok" && rights.every(({ status }) => status === "ok");
  return [admin, counters, ...rights, ...(mayRead ? [await regionFinding(link, settings.region, wallMs())] : [])];
}

async function adminSchemaFinding(link: SqlLink): Promise<Finding> {
  const subject = "tables of keys";
  try {
    await ensureAdminSchema(link, adminTables(), { mayMigrate: false, nowMs: 0 });
    return ok(subject, "up to date for this release");
  } catch (error) {
    if (error instanceof SqlFailure && error.kind === "forbidden") return fail(subject, error.message, RIGHTS);
    if (!(error instanceof AdminSchemaError)) throw error;
    return lackFinding(subject, error.message);
  }
}

async function counterSchemaFinding(settings: ServerSettings): Promise<Finding> {
  const subject = "tables of counters";
  const counters = (await countersOf(settings, false))!;
  try {
    await counters.denials.active(SYSTEM.clock.wallMs());
    return ok(subject, "up to date for this release");
  } catch (error) {
    const { kind, message } = error as Error & { readonly kind?: string };
    if (kind === "schema") return lackFinding(subject, message);
    return fail(subject, `${message} (${kind})`, kind === "permission" ? RIGHTS : "see docs/operating.md");
  } finally {
    await counters.close();
  }
}

/** Missing ones can be made; those of a newer release cannot be used. */
function lackFinding(subject: string, message: string): Finding {
  return /newer release/.test(message)
    ? fail(subject, message, "use a newer release")
    : warn(subject, message, MIGRATE);
}

async function rightFindings(link: SqlLink, tables: Readonly<Record<string, string>>): Promise<Finding[]> {
  const lacking: Finding[] = [];
  for (const [table, column] of Object.entries(tables)) {
    const statements = [
      `SELECT ${column} FROM ${table} WHERE 1 = 0`,
      `INSERT INTO ${table} SELECT * FROM ${table} WHERE 1 = 0`,
      `UPDATE ${table} SET ${column} = ${column} WHERE 1 = 0`,
      `DELETE FROM ${table} WHERE 1 = 0`,
    ];
    for (const text of statements) {
      const missing = await link
        .ask((run) => run(text))
        .then(
          () => null,
          (error: SqlFailure) => error,
        );
      if (missing === null) continue;
      if (missing.kind !== "forbidden") throw missing;
      lacking.push(fail("database rights", `${text.split(" ", 1)[0]} on ${table}: ${missing.message}`, RIGHTS));
    }
  }
  return lacking.length > 0 ? lacking : [ok("database rights", "this user may read and write every table")];
}
