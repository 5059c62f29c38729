/** One page of a list that is ordered by a text: the cursor is the text of the last item, so what is added or deleted meanwhile
 * neither repeats nor hides another. */

import { Problem } from "../../contract/problem.ts";
import { PAGE_DEFAULT } from "../../contract/schemas.ts";
import type { Answer } from "./route.ts";

interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

export function pageOf<Item, Data>(
  items: readonly Item[],
  { limit = PAGE_DEFAULT, cursor }: PageRequest,
  textOf: (item: Item) => string,
  dataOf: (item: Item) => Data,
): Answer<Data[]> {
  const after = cursor === undefined ? undefined : textOfCursor(cursor);
  const start = after === undefined ? 0 : items.findIndex((item) => textOf(item) > after);
  const page = start === -1 ? [] : items.slice(start, start + limit);
  const hasMore = start !== -1 && items.length > start + limit;
  const data = page.map(dataOf);
  if (!hasMore) return { data, pagination: { hasMore } };
  return { data, pagination: { hasMore, cursor: Buffer.from(textOf(page.at(-1)!)).toString("base64url") } };
}

function textOfCursor(cursor: string): string {
  const bytes = Buffer.from(cursor, "base64url");
  // As the schema has it: any bytes are a place to go on from.
  if (bytes.toString("base64url") !== cursor) {
    throw Problem.at("body.cursor", "must be the cursor of an earlier answer");
  }
  return bytes.toString("utf8");
}
