import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isAdminAction, permissionOf, type RouteAction } from "../../access/permission.ts";
import { ROUTES } from "./routes.ts";

const page = readFileSync(new URL("../../../../../docs/http-api.md", import.meta.url), "utf8");

test("docs/http-api.md lists every operation with its permission, and no other", () => {
  const listed = [...page.matchAll(/^\| `((?:ratelimit|admin|server)\.\w+)` .*\| `?([^`|]+?)`? +\|$/gm)].map(
    ([, name, permission]) => `${name} ${permission}`,
  );
  expect(listed).toEqual(ROUTES.map(({ operation, action }) => `${operation} ${shown(action)}`));
});

/** Those of a namespace by their last part, the others whole. */
function shown(action: RouteAction): string {
  if (action === "any") return "any key";
  return action === "*" || isAdminAction(action) ? permissionOf(action) : action;
}
