import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ROUTES } from "./routes.ts";

const page = readFileSync(new URL("../../../../../docs/http-api.md", import.meta.url), "utf8");

test("docs/http-api.md lists every operation with its permission, and no other", () => {
  const listed = [...page.matchAll(/^\| `(ratelimit\.\w+)` .*\| `(\w+)` +\|$/gm)].map(
    ([, name, action]) => `${name} ${action}`,
  );
  expect(listed).toEqual(ROUTES.map(({ operation, action }) => `${operation} ${action}`));
});
