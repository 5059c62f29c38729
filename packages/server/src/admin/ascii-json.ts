/** JSON of ASCII characters alone: no collation, encoding or NUL of a database can change or merge two texts of it. */
export function asciiJson(value: object): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
