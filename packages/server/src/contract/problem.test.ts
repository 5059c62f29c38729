import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROBLEMS } from "./problem.ts";

const page = readFileSync(new URL("../../../../docs/http-api.md", import.meta.url), "utf8");

test("docs/http-api.md lists every problem and no other", () => {
  const listed = [...page.matchAll(/^\| +(\d{3}) \| `\/errors\/([a-z_/]+)`/gm)].map(
    ([, status, type]) => `${status} ${type}`,
  );
  const known = Object.values(PROBLEMS).map(({ status, type }) => `${status} ${type}`);
  expect(listed).toEqual(known);
});
