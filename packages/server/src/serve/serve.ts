/** The life of a server: starts, greets, waits for the word to stop, stops, and says whether anything was lost. */

import manifest from "../../package.json" with { type: "json" };
import type { ServerSettings } from "../config/settings.ts";
import { metricsText } from "../metrics/metrics.ts";
import { prepareDataDir } from "./data-dir.ts";
import { addressLine, keyLines } from "./greeting.ts";
import { urlOf } from "./listening.ts";
import { createLog, type Log } from "./log.ts";
import { type OpsListener, startOps } from "./ops-listener.ts";
import { startParent } from "./parent.ts";
import { startServer } from "./server.ts";
import { isClean, type Service, type StopReport, sumOf } from "./service.ts";

export interface Outside {
  readonly out: (text: string) => void;
  readonly onStop: (callback: () => void) => void;
}

/** 24 random letters and digits are beyond guessing, also for who has the hash. */
const KEY_LENGTH_SAFE = 24;

/** Resolves with what the stop could not save. */
export async function serve(settings: ServerSettings, { out, onStop }: Outside): Promise<StopReport> {
  let isTold = false;
  const told = new Promise<void>((resolve) =>
    onStop(() => {
      isTold = true;
      resolve();
    }),
  );
  const log = createLog(settings.logLevel);
  if (settings.rootKey !== null && settings.rootKey.length < KEY_LENGTH_SAFE) {
    log.warn("root-key.short", {
      length: settings.rootKey.length,
      advice: `take ${KEY_LENGTH_SAFE} random characters or more`,
    });
  }
  prepareDataDir(settings);
  let service: Service;
  try {
    service = settings.workers === 1 ? await startServer(settings, log) : await startParent(settings, log);
  } catch (error) {
    // Workers that were told to stop as well while they started.
    if (isTold) return sumOf([]);
    throw error;
  }
  const ops = await opsOf(settings, service);
  const isTls = settings.api.tls !== null;
  const url = urlOf({ host: settings.host, port: service.port }, isTls);
  out(addressLine(url));
  const { opsHost, region, workers } = settings;
  const opsUrl = urlOf({ host: opsHost, port: ops.port }, false);
  log.info("listening", {
    url,
    ops: opsUrl,
    region,
    workers,
    redis: settings.redisUrl !== null,
    sql: settings.sqlUrl !== null,
  });
  void greet(settings, service, out, log);
  await told;
  log.info("stopping");
  const report = await service.stop();
  ops.close();
  log[isClean(report) ? "info" : "error"]("stopped", report);
  return report;
}

async function opsOf({ opsHost: host, opsPort, port, region }: ServerSettings, service: Service): Promise<OpsListener> {
  const metrics = async () => metricsText(await service.readings(), { version: manifest.version, region });
  try {
    return await startOps({
      host,
      port: opsPort ?? (port === 0 ? 0 : null),
      readiness: () => service.readiness(),
      metrics,
    });
  } catch (error) {
    await service.stop();
    throw error;
  }
}

/** While the store is away, the key waits for it; requests are answered meanwhile. */
async function greet(settings: ServerSettings, service: Service, out: Outside["out"], log: Log): Promise<void> {
  try {
    const newKey = await service.ensureRootKey();
    const isTls = settings.api.tls !== null;
    const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[settings.host] ?? settings.host;
    out(keyLines({ url: urlOf({ host, port: service.port }, isTls), newKey, isTls }));
  } catch (error) {
    log.warn("root-key.unknown", { reason: (error as Error).message });
  }
}
