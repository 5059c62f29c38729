/**
 * Sluice, in the forms a user calls: with a request object (a new literal per call, as users write it), through a rule,
 * behind a promise, and as a batch. Each form has its own limiter and table; they share the library's code, and so
 * whatever the optimiser learns from all of them together.
 */
import { type Decision, Limiter } from "sluice";
import type { Instance, Load } from "./contender.ts";

const NAMESPACE = "api";
const DURATION = "1d"; // WINDOW_MS, as users write it

/** Without an origin nothing is ever awaited: a promise here is a defect of the library, or of this benchmark. */
function settled<Value>(value: Value | Promise<Value>): Value {
  if (value instanceof Promise) throw new Error("the synchronous form of Sluice returned a promise");
  return value;
}

function instance<Key, Result>(
  limiter: Limiter,
  call: (key: Key) => Result | Promise<Result>,
  decisionOf: (result: Result) => Decision,
): Instance<Key, Result> {
  return {
    call,
    isAllowed: (result) => decisionOf(settled(result)).success,
    used: (result) => decisionOf(settled(result)).current,
    close: async () => {
      await limiter.close();
    },
  };
}

const itself = (decision: Decision): Decision => decision;

export function createDecide({ keysMax, limit }: Load): Instance<string, Decision> {
  const limiter = new Limiter({ cellsMax: keysMax });
  return instance(
    limiter,
    (identifier: string) => limiter.decide({ namespace: NAMESPACE, identifier, limit, duration: DURATION, cost: 1 }),
    itself,
  );
}

export function createRuleDecide({ keysMax, limit }: Load): Instance<string, Decision> {
  const limiter = new Limiter({ cellsMax: keysMax });
  const rule = limiter.rule({ namespace: NAMESPACE, limit, duration: DURATION });
  return instance(limiter, (identifier: string) => rule.decide(identifier), itself);
}

export function createLimit({ keysMax, limit }: Load): Instance<string, Decision> {
  const limiter = new Limiter({ cellsMax: keysMax });
  return instance(
    limiter,
    (identifier: string) => limiter.limit({ namespace: NAMESPACE, identifier, limit, duration: DURATION, cost: 1 }),
    itself,
  );
}

interface BatchDecision {
  readonly success: boolean;
  readonly decisions: readonly Decision[];
}

/** The first item's decision, under the verdict on the whole batch. */
function firstOf({ success, decisions }: BatchDecision): Decision {
  const first = decisions[0];
  if (first === undefined) throw new Error("a batch was answered without decisions");
  return { ...first, success };
}

export function createDecideMany({ keysMax, limit }: Load): Instance<readonly string[], BatchDecision> {
  const limiter = new Limiter({ cellsMax: keysMax });
  return instance(
    limiter,
    (identifiers: readonly string[]) =>
      limiter.decideMany([
        { namespace: NAMESPACE, identifier: identifiers[0]!, limit, duration: DURATION, cost: 1 },
        { namespace: NAMESPACE, identifier: identifiers[1]!, limit, duration: DURATION, cost: 1 },
        { namespace: NAMESPACE, identifier: identifiers[2]!, limit, duration: DURATION, cost: 1 },
        { namespace: NAMESPACE, identifier: identifiers[3]!, limit, duration: DURATION, cost: 1 },
      ]),
    firstOf,
  );
}

export function createLimitMany({ keysMax, limit }: Load): Instance<readonly string[], BatchDecision> {
  const limiter = new Limiter({ cellsMax: keysMax });
  return instance(
    limiter,
    (identifiers: readonly string[]) =>
      limiter.limitMany([
        { namespace: NAMESPACE, identifier: identifiers[0]!, limit, duration: DURATION, cost: 1 },
        { namespace: NAMESPACE, identifier: identifiers[1]!, limit, duration: DURATION, cost: 1 },
        { namespace: NAMESPACE, identifier: identifiers[2]!, limit, duration: DURATION, cost: 1 },
        { namespace: NAMESPACE, identifier: identifiers[3]!, limit, duration: DURATION, cost: 1 },
      ]),
    firstOf,
  );
}
