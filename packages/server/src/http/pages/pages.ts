/** What is read with GET and needs no key: whether the server is alive, and how to use it. */
import manifest from "../../../package.json" with { type: "json" };
import { ROUTES } from "../routes/routes.ts";
import { openApiOf } from "./openapi.ts";
import { referencePage } from "./reference-page.ts";
import { readUiFiles } from "./ui-files.ts";

export interface Page {
  /** 200 if it is left out. */
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The same, compressed. */
  readonly gzip?: Buffer;
}

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" };
const document = openApiOf(ROUTES);

const start = { name: "sluice", version: manifest.version, docs: "/docs", openapi: "/openapi.json" };

const START: Page = { headers: JSON_HEADERS, text: JSON.stringify(start) };

const PAGES: ReadonlyMap<string, Page> = new Map([
  ["/", START],
  ["/health", { headers: JSON_HEADERS, text: '{"status":"alive"}' }],
  ["/openapi.json", { headers: JSON_HEADERS, text: JSON.stringify(document) }],
  [
    "/docs",
    {
      headers: {
        "content-type": "text/html; charset=utf-8",
        // Nothing from elsewhere, no script, in no frame.
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
      },
      text: referencePage(document),
    },
  ],
]);

/** By path; with the live page, if it is wanted and was built. `/` then leads to it. */
export function pagesOf(hasUi: boolean): ReadonlyMap<string, Page> {
  const ui = hasUi ? readUiFiles() : null;
  if (ui === null) return PAGES;
  const toUi: Page = { ...START, status: 302, headers: { ...START.headers, location: "/ui" } };
  return new Map<string, Page>([...PAGES, ["/", toUi], ...ui]);
}
