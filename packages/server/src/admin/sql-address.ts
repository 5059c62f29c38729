/** Where a database server is, out of a URL; what is wrong with one is said without showing a password. */
import { readSqlUrl, type SqlAddress } from "sluice/internal";
import { InputError } from "../input/input-error.ts";

const FORM = "the SQL URL must be scheme://user:password@host:port/database";

export function sqlAddress(url: string, portDefault: number, tls: SqlAddress["tls"]): SqlAddress {
  const parsed = readSqlUrl(url);
  if (parsed === null || parsed.host === "") {
    throw new InputError(`${FORM}; got a text that is not a URL`, "see docs/configuration.md");
  }
  const { host, port = portDefault, user, password, database, hasParameters } = parsed;
  if (database === undefined) throw new InputError(`${FORM}; got no database`, "add /database");
  if (hasParameters) throw new InputError(`${FORM}; got parameters`, "remove the parameters (from ? on)");
  return { host, port, user, password, database, tls };
}
