/** Clients that ask without a pause whichever servers are named, in turn, and enter every answer in the ledger. */
import { RequestLoad } from "../../../test/rig/request-load.ts";
import type { SluiceServer } from "../../../test/rig/sluice-server.ts";
import { Ledger } from "./ledger.ts";

export const NAMESPACE = "mixed";
/** So long that no window ends meanwhile. */
export const DURATION = 30 * 86_400_000;
const TIGHT_LIMIT = 50;
const WIDE_LIMIT = 1_000_000_000;
/** After so many denials a client turns to another identifier. */
const DENIALS_EACH = 5;
/** Every so many requests a client asks about the identifier that is never denied. */
const WIDE_EVERY = 4;

/** What one server has answered. */
export interface Answers {
  allowed: number;
  denied: number;
}

interface Body {
  readonly namespace: string;
  readonly identifier: string;
  readonly limit: number;
  readonly duration: number;
}

/** Which identifiers a client asks about. */
class Client {
  readonly #ledger: Ledger;
  readonly #name: string;
  #asked = 0;
  #tight = 0;

  constructor(ledger: Ledger, number: number) {
    this.#ledger = ledger;
    this.#name = String(number);
    ledger.open(`wide_${this.#name}`, WIDE_LIMIT);
    ledger.open(`tight_${this.#name}_0`, TIGHT_LIMIT);
  }

  next(): Body {
    let tight = `tight_${this.#name}_${this.#tight}`;
    if (this.#ledger.accounts.get(tight)!.denied >= DENIALS_EACH) {
      tight = `tight_${this.#name}_${++this.#tight}`;
      this.#ledger.open(tight, TIGHT_LIMIT);
    }
    const isWide = ++this.#asked % WIDE_EVERY === 0;
    const [identifier, limit] = isWide ? [`wide_${this.#name}`, WIDE_LIMIT] : [tight, TIGHT_LIMIT];
    return { namespace: NAMESPACE, identifier, limit, duration: DURATION };
  }
}

export interface MixedLoad {
  readonly load: RequestLoad;
  readonly ledger: Ledger;
  readonly answers: ReadonlyMap<SluiceServer, Answers>;
}

export function mixedLoad(count: number): MixedLoad {
  const ledger = new Ledger();
  const answers = new Map<SluiceServer, Answers>();
  const clients = Array.from({ length: count }, (_, i) => new Client(ledger, i));
  const load = new RequestLoad({
    clients: count,
    operation: "limit",
    bodyOf: (client) => clients[client]!.next(),
    onAnswer: (target, request, { status, body }) => {
      if (status !== 200) return;
      const { success } = body.data as { readonly success: boolean };
      ledger.heard((request as Body).identifier, success);
      const answered = answers.get(target) ?? { allowed: 0, denied: 0 };
      answered[success ? "allowed" : "denied"]++;
      answers.set(target, answered);
    },
    onUnanswered: (request) => {
      ledger.accounts.get((request as Body).identifier)!.unanswered++;
    },
  });
  return { load, ledger, answers };
}
