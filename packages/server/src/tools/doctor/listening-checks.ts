/** Whether a server could listen where it would: the port is taken for a moment, and given back. */
import { get as getPlain } from "node:http";
import { get as getOverTls } from "node:https";
import { createServer } from "node:net";
import type { ServerSettings } from "../../config/settings.ts";
import { Failure } from "../../input/failure.ts";
import { listen, type Place, urlOf } from "../../serve/listening.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const HEALTH_WITHIN_MS = 1_000;

type Checked = Pick<ServerSettings, "host" | "port" | "opsHost" | "opsPort" | "api">;

/** Ports that a server chooses itself (0, or no ops.port) are not looked at. */
export async function listeningFindings({ host, port, opsHost, opsPort, api }: Checked): Promise<Finding[]> {
  return [
    ...(port === 0 ? [] : [await listeningFinding("port", { host, port }, api.tls !== null)]),
    ...(opsPort === null || opsPort === 0
      ? []
      : [await listeningFinding("ops port", { host: opsHost, port: opsPort }, false)]),
  ];
}

async function listeningFinding(subject: string, place: Place, isTls: boolean): Promise<Finding> {
  const server = createServer();
  try {
    await listen(server, place);
    await new Promise((resolve) => server.close(resolve));
    return ok(subject, `${place.host}:${place.port} is free`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (!(await isSluice(urlOf(place, isTls)))) return fail(subject, error.message, error.hint);
    return warn(
      subject,
      `a Sluice server already listens on ${place.host}:${place.port}`,
      "nothing to do if this is the server that you are checking; a second server needs another port",
    );
  }
}

/** A server's own answer to `/health`; its certificate does not matter here. */
function isSluice(url: string): Promise<boolean> {
  const get = url.startsWith("https:") ? getOverTls : getPlain;
  return new Promise((resolve) => {
    const options = { rejectUnauthorized: false, agent: false, headers: { host: "localhost" } } as const;
    const asked = get(`${url}/health`, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > 100) asked.destroy();
      });
      answer.on("end", () => resolve(text.trim() === '{"status":"alive"}'));
    });
    const timer = setTimeout(() => asked.destroy(), HEALTH_WITHIN_MS);
    asked.on("error", () => resolve(false));
    asked.on("close", () => {
      clearTimeout(timer);
      resolve(false);
    });
  });
}
