/** What is read with GET and needs no key: whether the server is alive, and how to use it. */
import manifest from "../../../package.json" with { type: "json" };
import { ROUTES } from "../routes/routes.ts";
import { openApiOf } from "./openapi.ts";
import { referencePage } from "./reference-page.ts";

export interface Page {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" };
const document = openApiOf(ROUTES);

const start = { name: "sluice", version: manifest.version, docs: "/docs", openapi: "/openapi.json" };

/** By path. */
export const PAGES: ReadonlyMap<string, Page> = new Map([
  ["/", { headers: JSON_HEADERS, text: JSON.stringify(start) }],
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
