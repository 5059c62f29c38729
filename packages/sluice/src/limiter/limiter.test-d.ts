/** Misuse that the compiler finds. Checked by `tsc`, never run: an unused `@ts-expect-error` is an error. */
import { expectTypeOf, test } from "vitest";
import {
  type BatchDecision,
  type Clock,
  type CloseReport,
  type Decision,
  type Duration,
  type ErrorCode,
  type Inspection,
  Limiter,
  type LimiterOptions,
  type Reason,
  type Rule,
  SluiceError,
} from "../index.ts";

declare const limiter: Limiter;
declare const decision: Decision;
declare const inspection: Inspection;
const request = { namespace: "api", identifier: "user_42", limit: 10, duration: "1m" } as const;

test("the calls of the README compile", () => {
  expectTypeOf(limiter.limit(request)).toEqualTypeOf<Promise<Decision>>();
  expectTypeOf(limiter.decide(request)).toEqualTypeOf<Decision | Promise<Decision>>();
  expectTypeOf(limiter.limitMany([request, { ...request, cost: 0 }])).toEqualTypeOf<Promise<BatchDecision>>();
  expectTypeOf(limiter.decideMany([request])).toEqualTypeOf<BatchDecision | Promise<BatchDecision>>();
  expectTypeOf(limiter.rule({ namespace: "api", limit: 100, duration: "1m" })).toEqualTypeOf<Rule>();
  expectTypeOf(
    limiter.rule({ namespace: "api", limit: 100, duration: 1_000 }).limit("user_42", { cost: 5 }),
  ).resolves.toEqualTypeOf<Decision>();
  expectTypeOf(limiter.close()).toEqualTypeOf<Promise<CloseReport>>();
  expectTypeOf(limiter.ready()).toEqualTypeOf<Promise<boolean>>();
  expectTypeOf(limiter.ready({ timeoutMs: 5_000 })).toEqualTypeOf<Promise<boolean>>();
  void limiter.ready({ timeoutMs: undefined });
  expectTypeOf(new Limiter()).toEqualTypeOf<Limiter>();
  expectTypeOf(new Limiter({ cellsMax: 5, whenFull: "deny" })).toEqualTypeOf<Limiter>();
  limiter.inspect({ namespace: "api", identifier: "user_42", duration: "1h" });
  void limiter.decide({ ...request, workspace: undefined, cost: undefined });
});

test("a request has all of its required fields", () => {
  // @ts-expect-error no namespace
  void limiter.decide({ identifier: "user_42", limit: 10, duration: "1m" });
  // @ts-expect-error no identifier
  void limiter.decide({ namespace: "api", limit: 10, duration: "1m" });
  // @ts-expect-error no limit
  void limiter.decide({ namespace: "api", identifier: "user_42", duration: "1m" });
  // @ts-expect-error no duration
  void limiter.decide({ namespace: "api", identifier: "user_42", limit: 10 });
  // @ts-expect-error nothing at all
  void limiter.decide();
  // @ts-expect-error a rule has no identifier of its own
  limiter.rule({ namespace: "api", identifier: "user_42", limit: 10, duration: "1m" });
  // @ts-expect-error a rule needs its limit
  limiter.rule({ namespace: "api", duration: "1m" });
  // @ts-expect-error a rule is asked about an identifier
  void limiter.rule({ namespace: "api", limit: 5, duration: "1m" }).decide();
  // @ts-expect-error a batch is an array
  void limiter.decideMany(request);
});

test("ready takes a timeout in milliseconds and nothing else", () => {
  // @ts-expect-error a text is not a number of milliseconds
  void limiter.ready({ timeoutMs: "5s" });
  // @ts-expect-error the option is timeoutMs
  void limiter.ready({ timeout: 5_000 });
  // @ts-expect-error a number is not an object
  void limiter.ready(5_000);
});

test("a field has its type and no other", () => {
  // @ts-expect-error an identifier is a text
  void limiter.decide({ ...request, identifier: 42 });
  // @ts-expect-error a limit is a number
  void limiter.decide({ ...request, limit: "10" });
  // @ts-expect-error a cost is a number
  void limiter.decide({ ...request, cost: 1n });
  // @ts-expect-error an unknown field is a misspelt one
  void limiter.decide({ namespace: "api", identifier: "user_42", limit: 10, duration: "1m", costs: 2 });
  // @ts-expect-error a request has no time of its own
  void limiter.decide({ namespace: "api", identifier: "user_42", limit: 10, duration: "1m", time: 0 });
  // @ts-expect-error a rule's request is an object
  void limiter.rule({ namespace: "api", limit: 5, duration: "1m" }).limit("user_42", 5);
  // @ts-expect-error a rule's limit is fixed
  void limiter.rule({ namespace: "api", limit: 5, duration: "1m" }).limit("user_42", { limit: 5 });
});

test("a duration is a number, or a whole number with a known unit", () => {
  expectTypeOf<"1500ms" | "10s" | "5m" | "1h" | "30d" | 1_000>().toExtend<Duration>();
  expectTypeOf<"5 parsecs">().not.toExtend<Duration>();
  expectTypeOf<"1.5h">().not.toExtend<Duration>();
  expectTypeOf<"">().not.toExtend<Duration>();
  expectTypeOf<" 5s">().not.toExtend<Duration>();
  expectTypeOf<"5S">().not.toExtend<Duration>();
  expectTypeOf<"5">().not.toExtend<Duration>();
  expectTypeOf<"s">().not.toExtend<Duration>();
  expectTypeOf<string>().not.toExtend<Duration>();
  expectTypeOf<bigint>().not.toExtend<Duration>();
  // @ts-expect-error an unknown unit
  void limiter.decide({ ...request, duration: "5 parsecs" });
  // @ts-expect-error a fraction
  limiter.rule({ namespace: "api", limit: 5, duration: "1.5h" });
});

test("an option is known and has its type", () => {
  // @ts-expect-error neither allow nor deny
  new Limiter({ whenFull: "maybe" });
  // @ts-expect-error a misspelt option
  new Limiter({ cellMax: 5 });
  // @ts-expect-error a text
  new Limiter({ cellsMax: "9" });
  // @ts-expect-error a clock has two functions
  new Limiter({ clock: { wallMs: () => 0 } });
  // @ts-expect-error timers can be cleared
  new Limiter({ timers: { set: () => 1 } });
  // @ts-expect-error a random draws numbers
  new Limiter({ random: { uint32: () => "4" } });
  expectTypeOf<LimiterOptions["clock"]>().toEqualTypeOf<Clock | undefined>();
});

test("an answer is read, not written", () => {
  // @ts-expect-error readonly
  decision.success = true;
  // @ts-expect-error readonly
  decision.remaining = 5;
  // @ts-expect-error readonly, all the way down
  inspection.current.own = 0;
  // @ts-expect-error readonly
  limiter.stats().decisions.denied.limit = 0;
  // @ts-expect-error the decisions of a batch are a readonly array
  (({}) as BatchDecision).decisions.push(decision);
  expectTypeOf<Reason>().toEqualTypeOf<
    "allowed" | "limit" | "cost" | "batch" | "full" | "charged" | "timeout" | "waiters" | "reserved" | "holds"
  >();
});

test("what may be a promise must be told apart first", () => {
  const decided = limiter.decide(request);
  // @ts-expect-error may be a promise
  decided.success;
  // @ts-expect-error may be a promise
  expectTypeOf<Decision>(decided);
  // @ts-expect-error a promise has no success
  limiter.limit(request).success;
  // @ts-expect-error may be a promise
  limiter.decideMany([request]).decisions;
  if (!(decided instanceof Promise)) expectTypeOf(decided).toEqualTypeOf<Decision>();
  // @ts-expect-error a limit may be unknown
  inspection.limit.toFixed();
});

test("an error tells its code", () => {
  const error: unknown = new Error("any");
  if (error instanceof SluiceError) {
    expectTypeOf(error.code).toEqualTypeOf<ErrorCode>();
    expectTypeOf(error.field).toEqualTypeOf<string>();
    expectTypeOf(error.value).toBeUnknown();
    // @ts-expect-error not one of the codes
    error.code === "RL_LIMIT";
  }
});
