/** A real PostgreSQL of a test's own, with a database and a user that may do everything. */
import { Client } from "pg";
import type { Certificate } from "./certificate.ts";
import { DatabaseProcess, type DatabaseProgram } from "./database-process.ts";
import { DEBIAN, debianBinary, prepareBinaries } from "./debian-binary.ts";

prepareBinaries(DEBIAN.postgres, DEBIAN.initdb);

function program(flags: readonly string[], tls: Pick<Certificate, "keyFile" | "certFile"> | null): DatabaseProgram {
  const encrypted = tls === null ? [] : ["ssl=on", `ssl_cert_file=${tls.certFile}`, "ssl_key_file=../key.pem"];
  const settings = ["listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=32MB", ...encrypted, ...flags];
  return {
    user: "postgres",
    prepare: () => [
      debianBinary(DEBIAN.initdb),
      "--pgdata=data",
      "--username=root",
      "--auth=trust",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
    ],
    // It reads no key that others may read.
    add: tls === null ? null : ["install", "-m", "600", tls.keyFile, "key.pem"],
    run: (folder, port) => [
      debianBinary(DEBIAN.postgres),
      "-D",
      `${folder}/data`,
      "-p",
      String(port),
      "-k",
      folder,
      ...settings.flatMap((setting) => ["-c", setting]),
    ],
    ping: async (port) => {
      const client = new Client(addressOf(port, "postgres"));
      await client.connect();
      await client.end();
    },
  };
}

function addressOf(port: number, database: string) {
  return { host: "127.0.0.1", port, user: "root", database };
}

export class PostgresServer {
  readonly process: DatabaseProcess;

  private constructor(process: DatabaseProcess) {
    this.process = process;
  }

  static async start(
    flags: readonly string[] = [],
    tls: Pick<Certificate, "keyFile" | "certFile"> | null = null,
  ): Promise<PostgresServer> {
    return new PostgresServer(await DatabaseProcess.start(program(flags, tls)));
  }

  /** As the user who may do everything; through another port if there is something in between. */
  url(port: number = this.process.port, user = "root"): string {
    return `postgres://${user}@127.0.0.1:${port}/postgres`;
  }

  /** One statement, on a connection of its own. */
  async ask(sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = new Client(addressOf(this.process.port, "postgres"));
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(sql);
      return rows;
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    await this.process.stop();
  }
}
