/** The server with 100,000 identifiers in random order, with and without Redis: what one decision takes of its processor. */
import { ServerProcess } from "../http/contenders.ts";
import { type Figure, type Load, runLoad } from "../http/load.ts";

export const serverSubjects = ["without Redis", "with Redis"] as const;
export type ServerSubject = (typeof serverSubjects)[number];

export interface ServerFigure extends Figure {
  readonly subject: ServerSubject;
}

const LOAD: Load = { operation: "limit", checks: 1, randomOf: 100_000 };

/** One start of one server: a new process each time, because one start of the same code may settle at two thirds of another. */
export async function measureServer(subject: ServerSubject, redisUrl: string, seconds: number): Promise<ServerFigure> {
  const server = await ServerProcess.sluice(subject === "with Redis" ? { SLUICE_REDIS_URL: redisUrl } : {});
  try {
    await runLoad(server, LOAD, Math.ceil(seconds / 2));
    return { subject, ...(await runLoad(server, LOAD, seconds)) };
  } finally {
    await server.stop();
  }
}
