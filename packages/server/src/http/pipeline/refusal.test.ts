import { expect, test } from "vitest";
import type { Log } from "../../log/log.ts";
import { problemOf } from "./refusal.ts";

test("a mistake of the server is logged with its stack, and its text stays out of the answer", () => {
  const lines: unknown[] = [];
  const log = { error: (event: string, fields: object) => lines.push({ event, ...fields }) } as unknown as Log;
  const error = new TypeError("cannot read 'hunter2'");
  const problem = problemOf(error, log, "req_1");
  expect(problem.status).toBe(500);
  expect(JSON.stringify(problem.toBody("req_1"))).not.toContain("hunter2");
  expect(lines).toEqual([{ event: "request.failed", requestId: "req_1", error: error.stack }]);
});
