/**
 * What the suites take from "vitest" while mutants are hunted: `describe`, `test` and `expect`, enough of each.
 *
 * Tests are only collected here, in the order they are written; runner.mjs runs them. `expect` is Vitest's own.
 */
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from "@vitest/expect";
import * as chai from "chai";

/** @type {string[]} */
const path = [];

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

/** @type {(value: unknown, message?: string) => unknown} */
export const expect = Object.assign(
  (/** @type {unknown} */ value, /** @type {string | undefined} */ message) => chai.expect(value, message),
  chai.expect,
  Reflect.get(globalThis, ASYMMETRIC_MATCHERS_OBJECT),
);
setState(
  { assertionCalls: 0, isExpectingAssertions: false, expectedAssertionsNumber: null },
  /** @type {any} */ (expect),
);

/** @type {(name: string, body: () => void) => void} */
export function describe(name, body) {
  path.push(name);
  body();
  path.pop();
}

/** @param {unknown[]} parts options, if any, and the body */
function bodyOf(parts) {
  return /** @type {(...values: unknown[]) => unknown} */ (parts.find((part) => typeof part === "function"));
}

/** @type {(name: string, ...parts: unknown[]) => void} */
export function test(name, ...parts) {
  // The runner has this list: the bundle has a copy of this module for itself.
  /** @type {any} */ (globalThis).__collected__.push({ name: [...path, name].join(" › "), run: bodyOf(parts) });
}

test.each =
  (/** @type {readonly unknown[]} */ cases) =>
  (/** @type {string} */ name, /** @type {unknown[]} */ ...parts) => {
    const body = bodyOf(parts);
    for (const [i, one] of cases.entries()) {
      test(`${name} [${i}]`, () => (Array.isArray(one) ? body(...one) : body(one)));
    }
  };
