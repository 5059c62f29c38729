/** The OpenAPI document, made from the table of routes and the table of problems. */
import { isAdminAction, permissionOf, type RouteAction } from "../../access/permission.ts";
import { PROBLEMS, type ProblemKind } from "../../contract/problem.ts";
import { answerOf, ProblemAnswer } from "../../contract/schemas.ts";
import type { Route } from "../routes/route.ts";

/** What every route may answer. */
const COMMON: readonly ProblemKind[] = [
  "invalid_input",
  "malformed_authorization",
  "key_not_found",
  "insufficient_permissions",
  "key_disabled",
  "workspace_disabled",
  "body_too_large",
  "unsupported_media_type",
  "quota_exceeded",
  "authentication_failures",
  "unavailable",
];

export interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly security: readonly object[];
  readonly components: object;
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly requestBody: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>;
}

interface Content {
  readonly "application/json"?: { readonly schema: object };
  /** Each event has such data. */
  readonly "text/event-stream"?: { readonly schema: object };
}

export function openApiOf(routes: readonly Route[]): OpenApi {
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version: "2",
      description:
        "Rate limits over HTTP. Every request is a POST with a JSON body and 'Authorization: Bearer <root key>'.",
    },
    security: [{ rootKey: [] }],
    components: {
      securitySchemes: { rootKey: { type: "http", scheme: "bearer" } },
      schemas: { Problem: plain(ProblemAnswer) },
    },
    paths: Object.fromEntries(routes.map((route) => [`/v2/${route.operation}`, { post: operationOf(route) }])),
  };
}

function operationOf({ operation, summary, action, body, data, isList, isStream, problems }: Route): Operation {
  const responses: Record<string, { description: string; content: Content }> = {
    200: isStream
      ? {
          description: "Server-sent events named `snapshot`.",
          content: { "text/event-stream": { schema: plain(data) } },
        }
      : { description: "The answer.", content: contentOf(plain(answerOf(data, isList))) },
  };
  for (const kind of [...COMMON, ...problems]) {
    const { status, type } = PROBLEMS[kind];
    const known = responses[status];
    const description = known === undefined ? type : `${known.description}, ${type}`;
    responses[status] = { description, content: contentOf({ $ref: "#/components/schemas/Problem" }) };
  }
  return {
    operationId: operation,
    summary,
    description:
      action === "any" ? "Every key may." : `Needs the permission \`${permissionOf(action)}\`${scopeOf(action)}.`,
    requestBody: { required: true, content: contentOf(plain(body)) },
    responses,
  };
}

function scopeOf(action: RouteAction): string {
  if (action === "*") return " in the workspace `default`";
  return action === "create_namespace" || isAdminAction(action)
    ? ""
    : ", or the same permission for the id of the namespace";
}

function contentOf(schema: object): Content {
  return { "application/json": { schema } };
}

/** Without what only this program understands. */
function plain(schema: object): object {
  return JSON.parse(JSON.stringify(schema, (name, value) => (name === "rule" ? undefined : value))) as object;
}
