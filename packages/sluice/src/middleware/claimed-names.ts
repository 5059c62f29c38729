/**
 * Which policies the middlewares of a limiter have: two with one name and one duration share a count. That is meant if their limits
 * agree or depend on the request, and a mistake if they are fixed and differ.
 */
import { SluiceError } from "../core/errors.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { Policy } from "./options.ts";

/** Limiter → name and duration → fixed limit. */
const claimed = new WeakMap<Limiter, Map<string, number>>();

/** @throws SluiceError if the limiter has one of these policies with another limit. */
export function claimNames<Req>(limiter: Limiter, policies: readonly Policy<Req>[]): void {
  const limits = claimed.get(limiter) ?? new Map<string, number>();
  const own = policies.flatMap(({ name, duration, limit }) =>
    typeof duration === "number" && typeof limit === "number" ? [{ id: `${duration} ${name}`, name, limit }] : [],
  );
  for (const { id, name, limit } of own) {
    if ((limits.get(id) ?? limit) !== limit) throw new SluiceError("RL_POLICY_NAME_TAKEN", "name", name);
  }
  for (const { id, limit } of own) limits.set(id, limit);
  claimed.set(limiter, limits);
}
