/**
 * What clients know for sure of every identifier: how much was accepted, and of which request the answer never came.
 *
 * Each identifier is asked by one client, one request after the other, so that at every denial its count is known exactly.
 */

export interface Account {
  readonly limit: number;
  accepted: number;
  denied: number;
  /** Sent, and cut off: whether it was counted is not known. */
  unanswered: number;
}

export class Ledger {
  readonly accounts = new Map<string, Account>();
  readonly falseDenials: string[] = [];

  open(identifier: string, limit: number): Account {
    const account = { limit, accepted: 0, denied: 0, unanswered: 0 };
    this.accounts.set(identifier, account);
    return account;
  }

  /** A denial is right only if the limit is used up: nobody else has asked about this identifier. */
  heard(identifier: string, success: boolean): void {
    const account = this.accounts.get(identifier)!;
    if (success) account.accepted++;
    else account.denied++;
    if (!success && account.accepted + account.unanswered < account.limit) {
      this.falseDenials.push(`${identifier}: denied after ${account.accepted} of ${account.limit}`);
    }
  }

  total(field: "accepted" | "denied" | "unanswered"): number {
    return [...this.accounts.values()].reduce((sum, account) => sum + account[field], 0);
  }

  /** The most that any identifier was allowed beyond its limit. */
  get excessMax(): number {
    return Math.max(0, ...[...this.accounts.values()].map(({ accepted, limit }) => accepted - limit));
  }
}
