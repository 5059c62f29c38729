/** A real MariaDB of a test's own, with a database and a user that may do everything. */
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { DatabaseProcess, type DatabaseProgram } from "./database-process.ts";
import { DEBIAN, debianBinary, prepareBinaries } from "./debian-binary.ts";

prepareBinaries(DEBIAN.mariadb, DEBIAN.mariadbInstaller);

function program(flags: readonly string[]): DatabaseProgram {
  return {
    user: "mysql",
    prepare: (folder) => [
      debianBinary(DEBIAN.mariadbInstaller),
      "--no-defaults",
      `--datadir=${folder}/data`,
      "--skip-test-db",
      "--auth-root-authentication-method=normal",
    ],
    add: null,
    run: (folder, port) => [
      debianBinary(DEBIAN.mariadb),
      "--no-defaults",
      `--datadir=${folder}/data`,
      `--socket=${folder}/socket`,
      `--pid-file=${folder}/pid`,
      `--port=${port}`,
      "--bind-address=127.0.0.1",
      "--skip-name-resolve",
      "--innodb-buffer-pool-size=64M",
      "--innodb-flush-log-at-trx-commit=0",
      ...flags,
    ],
    ping: async (port) => {
      const connection = await createConnection({ host: "127.0.0.1", port, user: "root" });
      await connection.end();
    },
  };
}

export class MariadbServer {
  readonly process: DatabaseProcess;

  private constructor(process: DatabaseProcess) {
    this.process = process;
  }

  static async start(flags: readonly string[] = []): Promise<MariadbServer> {
    const server = new MariadbServer(await DatabaseProcess.start(program(flags)));
    await server.#ask("CREATE DATABASE sluice", undefined);
    return server;
  }

  /** As the user who may do everything; through another port if there is something in between. */
  url(port: number = this.process.port, user = "root"): string {
    return `mysql://${user}@127.0.0.1:${port}/sluice`;
  }

  /** One statement, on a connection of its own. */
  ask(sql: string): Promise<readonly RowDataPacket[]> {
    return this.#ask(sql, "sluice");
  }

  async stop(): Promise<void> {
    await this.process.stop();
  }

  async #ask(sql: string, database: string | undefined): Promise<readonly RowDataPacket[]> {
    const address = { host: "127.0.0.1", port: this.process.port, user: "root" };
    const connection = await createConnection(database === undefined ? address : { ...address, database });
    try {
      const [rows] = await connection.query<RowDataPacket[]>(sql);
      return rows;
    } finally {
      await connection.end();
    }
  }
}
