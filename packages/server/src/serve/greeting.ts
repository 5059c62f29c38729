/** What a server prints when it is up: where it is, the key if it was just made or where it was written, and a line to paste. */

/** Where the first root key is; `token` only where standard output is a terminal. */
export type KeyPlace =
  | { readonly kind: "known" }
  | { readonly kind: "shown"; readonly token: string }
  | { readonly kind: "written"; readonly path: string }
  | { readonly kind: "unwritten"; readonly reason: string };

export interface Greeting {
  readonly url: string;
  readonly key: KeyPlace;
  readonly hasUi: boolean;
  /** Whether the certificate is one that curl may not trust. */
  readonly isTls: boolean;
}

const BODY = '{"namespace":"demo","identifier":"user_1","limit":5,"duration":60000}';
const ANOTHER = "sluice keys create --permissions '*'";

export function addressLine(url: string): string {
  return `Sluice listens on ${url}`;
}

export function keyLines({ url, key, hasUi, isTls }: Greeting): string {
  const trust = isTls ? " --insecure" : "";
  return [
    keyLine(key),
    ...(hasUi ? [`See it live, and sign in with the key: ${url}/ui`] : []),
    "Try it (the sixth request within a minute is denied):",
    "",
    `  curl -s${trust} ${url}/v2/ratelimit.limit -H ${header(key)} -H 'Content-Type: application/json' -d '${BODY}'`,
    "",
  ].join("\n");
}

function keyLine(key: KeyPlace): string {
  switch (key.kind) {
    case "shown":
      return `Root key (shown only once): ${key.token}`;
    case "written":
      return `Root key written to ${key.path} (readable by this user only): store it elsewhere, and delete the file`;
    case "unwritten":
      return `A root key was created, but could not be written (${key.reason}). Create another: ${ANOTHER}`;
    case "known":
      return `The root key was created at the first start, or preset. To create another: ${ANOTHER}`;
  }
}

function header(key: KeyPlace): string {
  if (key.kind === "shown") return `'Authorization: Bearer ${key.token}'`;
  if (key.kind === "written") return `"Authorization: Bearer $(cat ${quoted(key.path)})"`;
  return '"Authorization: Bearer $SLUICE_ROOT_KEY"';
}

/** For a shell, whatever a path may hold. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
