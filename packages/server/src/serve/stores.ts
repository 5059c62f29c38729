/** The stores that a server's limiter converges through, by their URLs. Drivers are loaded where they are needed. */
import { type Counters, type Origin, sharedOrigin } from "sluice";
import { sqlitePath } from "../admin/open-admin-store.ts";
import type { ServerSettings } from "../config/settings.ts";

/** Redis if there is one; else, for one of several workers, the memory of their parent. */
export async function originOf(settings: ServerSettings): Promise<Origin | undefined> {
  const { redisUrl, redisTls, redisProxy: proxy, workers } = settings;
  if (redisUrl === null) return workers === 1 ? undefined : sharedOrigin(process);
  const { redisOrigin } = await import("sluice/redis");
  return redisOrigin({ url: redisUrl, proxy, ...(redisTls === null ? {} : { tls: redisTls }) });
}

/** @param migrate whether missing tables are made. */
export async function countersOf({ sqlUrl, sqlTls }: ServerSettings, migrate = true): Promise<Counters | undefined> {
  if (sqlUrl === null) return undefined;
  switch (new URL(sqlUrl).protocol) {
    case "sqlite:": {
      const { sqliteCounters } = await import("sluice/sqlite");
      return sqliteCounters({ path: sqlitePath(sqlUrl), migrate });
    }
    case "mysql:":
    case "mariadb:": {
      const { mysqlCounters } = await import("sluice/mysql");
      return mysqlCounters({ url: sqlUrl, tls: sqlTls ?? false, migrate });
    }
    default: {
      const { postgresCounters } = await import("sluice/postgres");
      return postgresCounters({ url: sqlUrl, tls: sqlTls ?? false, migrate });
    }
  }
}
