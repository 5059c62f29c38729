/** What a server prints when it is up: where it is, the key if it was just made, and a line to paste. */

export interface Greeting {
  readonly url: string;
  /** The first root key, if it was made just now; it is shown this once. */
  readonly newKey: string | null;
  /** Whether the certificate is one that curl may not trust. */
  readonly isTls: boolean;
}

const BODY = '{"namespace":"demo","identifier":"user_1","limit":5,"duration":60000}';

export function addressLine(url: string): string {
  return `Sluice listens on ${url}`;
}

export function keyLines({ url, newKey, isTls }: Greeting): string {
  const key = newKey === null ? '"Authorization: Bearer $SLUICE_ROOT_KEY"' : `'Authorization: Bearer ${newKey}'`;
  const told =
    newKey === null
      ? "The root key was shown at the first start, or preset. If it is lost: sluice keys create --permissions '*'"
      : `Root key, shown this once: ${newKey}`;
  const trust = isTls ? " --insecure" : "";
  return [
    told,
    "Try it, and see the sixth time in a minute denied:",
    "",
    `  curl -s${trust} ${url}/v2/ratelimit.limit -H ${key} -H 'Content-Type: application/json' -d '${BODY}'`,
    "",
  ].join("\n");
}
