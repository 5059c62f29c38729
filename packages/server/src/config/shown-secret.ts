/** A secret, as it may be shown: a URL without its password, of a token nothing. */

const HIDDEN = "(hidden)";

export function shownSecret(kind: "token" | "url" | undefined, value: unknown): string {
  return kind === "url" && typeof value === "string" ? shownUrl(value) : HIDDEN;
}

/** The URL without its password; of a text that is none, nothing. */
function shownUrl(url: string): string {
  if (!URL.canParse(url)) return HIDDEN;
  const parsed = new URL(url);
  if (parsed.password !== "") parsed.password = "hidden";
  return parsed.href;
}
