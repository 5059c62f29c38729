import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Breaker } from "./breaker.ts";

const NOW_MS = 1_000_000;

/** Calls that end one after the other, `failures` of them badly, the good ones first. */
function call(breaker: Breaker, calls: number, failures: number, nowMs = NOW_MS): void {
  for (let i = 0; i < calls - failures; i++) breaker.succeeded(nowMs);
  for (let i = 0; i < failures; i++) breaker.failed(nowMs);
}

function opened(): Breaker {
  const breaker = new Breaker();
  call(breaker, 20, 20);
  expect(breaker.state).toBe("open");
  return breaker;
}

describe("breaker", () => {
  test("opens when half of twenty calls have failed", () => {
    const breaker = new Breaker();
    call(breaker, 19, 9);
    expect(breaker.state).toBe("closed");
    breaker.failed(NOW_MS);
    expect([breaker.state, breaker.opened]).toEqual(["open", 1]);
  });

  test("nineteen failures in a row are too few to say", () => {
    const breaker = new Breaker();
    call(breaker, 19, 19);
    expect([breaker.state, breaker.admit(NOW_MS)]).toEqual(["closed", true]);
  });

  test("opens on the ratio, not the count: a thousand failures among many more calls leave it closed", () => {
    const breaker = new Breaker();
    call(breaker, 2_100, 1_000);
    expect(breaker.state).toBe("closed");
  });

  test("failures older than five seconds are forgotten", () => {
    const breaker = new Breaker();
    call(breaker, 19, 19);
    breaker.failed(NOW_MS + 5_000);
    expect(breaker.state).toBe("closed");
    const other = new Breaker();
    call(other, 19, 19);
    other.failed(NOW_MS + 4_400);
    expect(other.state).toBe("open");
  });

  test("stays open for a second, then lets one probe through", () => {
    const breaker = opened();
    expect([breaker.isOpen(NOW_MS + 999), breaker.admit(NOW_MS + 999)]).toEqual([true, false]);
    expect(breaker.isOpen(NOW_MS + 1_000)).toBe(false);
    expect([breaker.admit(NOW_MS + 1_000), breaker.admit(NOW_MS + 1_000)]).toEqual([true, false]);
    expect([breaker.state, breaker.isOpen(NOW_MS + 1_500)]).toEqual(["probing", true]);
  });

  test("a question changes nothing", () => {
    const breaker = opened();
    for (let i = 0; i < 5; i++) expect(breaker.isOpen(NOW_MS + 1_000)).toBe(false);
    expect([breaker.state, breaker.admit(NOW_MS + 1_000)]).toEqual(["open", true]);
  });

  test("a probe that succeeds closes it, and the past is forgotten", () => {
    const breaker = opened();
    breaker.admit(NOW_MS + 1_000);
    breaker.succeeded(NOW_MS + 1_001);
    call(breaker, 18, 18, NOW_MS + 1_002);
    expect(breaker.state).toBe("closed");
    breaker.failed(NOW_MS + 1_002);
    expect(breaker.state).toBe("open");
  });

  test("a probe that fails opens it for another second", () => {
    const breaker = opened();
    breaker.admit(NOW_MS + 1_000);
    breaker.failed(NOW_MS + 1_300);
    expect([breaker.state, breaker.opened]).toEqual(["open", 2]);
    expect([breaker.admit(NOW_MS + 2_299), breaker.admit(NOW_MS + 2_300)]).toEqual([false, true]);
  });

  test("a probe that is never heard of is followed by another after a second", () => {
    const breaker = opened();
    breaker.admit(NOW_MS + 1_000);
    expect([breaker.admit(NOW_MS + 1_999), breaker.admit(NOW_MS + 2_000)]).toEqual([false, true]);
  });

  test("calls from before it opened neither close it nor keep it open longer", () => {
    const breaker = opened();
    breaker.succeeded(NOW_MS + 10);
    breaker.failed(NOW_MS + 900);
    expect([breaker.state, breaker.opened]).toEqual(["open", 1]);
    expect(breaker.admit(NOW_MS + 1_000)).toBe(true);
  });

  test("agrees with a model that remembers every call of the last five seconds", () => {
    const step = fc.record({
      afterMs: fc.constantFrom(0, 1, 50, 499, 500, 1_000, 4_500, 6_000),
      isFailure: fc.boolean(),
    });
    const burst = fc.record({ step, times: fc.integer({ min: 1, max: 15 }) });
    const property = fc.property(fc.array(burst, { maxLength: 30 }), (bursts) => {
      const breaker = new Breaker();
      let nowMs = NOW_MS;
      let calls: { readonly slice: number; readonly isFailure: boolean }[] = [];
      for (const { step: one, times } of bursts) {
        nowMs += one.afterMs;
        for (let i = 0; i < times; i++) {
          if (!breaker.admit(nowMs)) break;
          const wasClosed = breaker.state === "closed";
          if (one.isFailure) breaker.failed(nowMs);
          else breaker.succeeded(nowMs);
          if (!wasClosed) {
            // The probe.
            expect(breaker.state).toBe(one.isFailure ? "open" : "closed");
            calls = one.isFailure ? calls : [];
          }
          const slice = Math.floor(nowMs / 500);
          calls = calls.filter((old) => slice - old.slice < 10);
          calls.push({ slice, isFailure: one.isFailure });
          const failures = calls.filter(({ isFailure }) => isFailure).length;
          const isBad = one.isFailure && calls.length >= 20 && failures * 2 >= calls.length;
          if (wasClosed) expect(breaker.state).toBe(isBad ? "open" : "closed");
        }
      }
    });
    fc.assert(property, { numRuns: 300 });
  });

  test("every change is told once; a probe that follows an unanswered one is none", () => {
    const breaker = new Breaker();
    const heard: string[] = [];
    breaker.onChange = (state) => heard.push(state);
    call(breaker, 40, 40);
    expect(heard).toEqual(["open"]);
    breaker.admit(NOW_MS + 1_000);
    breaker.admit(NOW_MS + 2_000);
    expect(heard).toEqual(["open", "probing"]);
    breaker.succeeded(NOW_MS + 2_001);
    breaker.succeeded(NOW_MS + 2_002);
    expect(heard).toEqual(["open", "probing", "closed"]);
  });

  test("an outcome that is told late does not take back what was told before it", () => {
    const breaker = new Breaker();
    for (let i = 0; i < 10; i++) breaker.failed(NOW_MS + 600);
    breaker.failed(NOW_MS);
    for (let i = 0; i < 9; i++) breaker.failed(NOW_MS + 600);
    expect(breaker.state).toBe("open");
  });
});
