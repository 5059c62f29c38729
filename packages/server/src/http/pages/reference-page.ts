/** A page to read the API by: plain HTML from the OpenAPI document, with no script and nothing from elsewhere. */
import { escaped } from "../../text/html-text.ts";
import type { OpenApi, Operation } from "./openapi.ts";

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly examples?: readonly unknown[];
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h2 code{font-size:inherit}h2{margin-top:3rem;border-top:1px solid #ccc;padding-top:1rem;font-size:1.2rem}code,pre{font:14px/1.5 ui-monospace,monospace}
pre{background:#f4f4f4;padding:.75rem;overflow-x:auto}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #eee}
@media(prefers-color-scheme:dark){body{color:#eee;background:#16181c}pre{background:#22252b}td,th{border-color:#333}a{color:#8ab4f8}}`;

export function referencePage({ info, paths }: OpenApi): string {
  const entries = Object.entries(paths);
  const list = entries.map(
    ([path, { post }]) =>
      `<li><a href="#${escaped(post.operationId)}"><code>${escaped(path)}</code></a> ${escaped(post.summary)}</li>`,
  );
  const sections = entries.map(([path, { post }]) => sectionOf(path, post));
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)}: the HTTP API</title><style>${STYLE}</style>
<h1>${escaped(info.title)}: the HTTP API</h1><p>${escaped(info.description)} The same as <a href="/openapi.json">OpenAPI</a>.</p>
<ul>${list.join("\n")}</ul>${sections.join("\n")}</html>`;
}

function sectionOf(path: string, { operationId, summary, description, requestBody, responses }: Operation): string {
  const body = (requestBody.content["application/json"]?.schema ?? {}) as Schema;
  const content = responses["200"]?.content;
  const answer = content?.["application/json"]?.schema as Schema | undefined;
  const data = answer?.properties?.["data"] ?? (content?.["text/event-stream"]?.schema as Schema | undefined) ?? {};
  const statuses = Object.entries(responses).filter(([status]) => status !== "200");
  return `<h2 id="${escaped(operationId)}"><code>POST ${escaped(path)}</code></h2><p>${escaped(summary)} ${marked(description)}</p>
<h3>Body</h3><pre>${escaped(JSON.stringify(exampleOf(body), null, 2))}</pre>${tableOf(body)}
<h3>data</h3>${tableOf(data)}
<h3>Problems</h3><table>${statuses.map(([status, problem]) => `<tr><td>${status}<td>${escaped(problem.description)}`).join("")}</table>`;
}

function tableOf(schema: Schema): string {
  return `<table>${rowsOf(schema, "").join("")}</table>`;
}

function rowsOf(schema: Schema, prefix: string): string[] {
  const inner = schema.items ?? schema.anyOf?.find(({ properties }) => properties !== undefined) ?? schema;
  const rows: string[] = [];
  for (const [name, field] of Object.entries(inner.properties ?? {})) {
    const path = `${prefix}${name}`;
    const isRequired = inner.required?.includes(name) === true;
    const about = [typeOf(field), isRequired ? "" : "optional", field.description ?? ""].filter((text) => text !== "");
    rows.push(`<tr><td><code>${escaped(path)}</code><td>${marked(about.join("; "))}`);
    rows.push(...rowsOf(field, `${path}.`));
  }
  return rows;
}

function typeOf({ type, anyOf, minimum, maximum, minLength, maxLength }: Schema): string {
  const typeName = type ?? (anyOf ?? []).map((each) => each.type ?? JSON.stringify(each.const)).join(" or ");
  if (minimum !== undefined) return `${typeName} from ${minimum} to ${maximum}`;
  if (minLength !== undefined) return `${typeName} of ${minLength} to ${maxLength} characters`;
  return typeName;
}

function exampleOf(schema: Schema): unknown {
  if (schema.items !== undefined) return [exampleOf(schema.items)];
  if (schema.properties === undefined) return schema.examples?.[0] ?? (schema.type === "boolean" ? true : undefined);
  return Object.fromEntries(Object.entries(schema.properties).map(([name, field]) => [name, exampleOf(field)]));
}

/** Backquotes mark code. */
function marked(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}
