/** What a parent and its workers tell each other, beside the counts (sluice's own originHost) on the same channel. */
import type { ServerSettings } from "../config/settings.ts";
import type { Reading } from "../metrics/reading.ts";
import type { TopQuestion, TopReading } from "../top-identifiers/top-identifiers.ts";
import type { Readiness } from "./readiness.ts";
import type { StopReport } from "./service.ts";

/** Says whose message it is, and of which version of these. */
const MARK = "sluice/worker/1";

export type FromWorker =
  | { readonly kind: "born" }
  | { readonly kind: "listening"; readonly port: number }
  /** It could not start. */
  | { readonly kind: "failed"; readonly message: string; readonly hint: string }
  | { readonly kind: "readiness"; readonly readiness: Readiness }
  | { readonly kind: "reading"; readonly reading: Reading }
  | { readonly kind: "refreshed" }
  /** Somebody asks it who hits a namespace: what do all workers know? */
  | { readonly kind: "ask-top-identifiers"; readonly ask: number; readonly question: TopQuestion }
  | { readonly kind: "top-identifiers"; readonly ask: number; readonly reading: TopReading | null }
  /** It is stopping, and takes no more connections. */
  | { readonly kind: "closed" }
  | { readonly kind: "stopped"; readonly report: StopReport };

export type FromParent =
  | {
      readonly kind: "settings";
      readonly settings: ServerSettings;
      readonly number: number;
      /** Whether it replaces a worker that died. */
      readonly isReplacement: boolean;
    }
  | { readonly kind: "readiness" }
  | { readonly kind: "reading" }
  /** The admin store has news: read it now. */
  | { readonly kind: "refresh" }
  | { readonly kind: "top-identifiers"; readonly ask: number; readonly question: TopQuestion }
  /** The answer to `ask-top-identifiers`. */
  | { readonly kind: "all-top-identifiers"; readonly ask: number; readonly reading: TopReading }
  | { readonly kind: "stop" }
  /** No worker takes connections any more: the port is closed. */
  | { readonly kind: "all-closed" };

export function marked(message: FromWorker | FromParent): object {
  return { mark: MARK, ...message };
}

/** The message, if it is one of these; both ends are of one release, so that its mark is proof enough. */
export function messageOf<Message extends FromWorker | FromParent>(message: unknown): Message | undefined {
  const isOurs = typeof message === "object" && message !== null && "mark" in message && message.mark === MARK;
  return isOurs ? (message as unknown as Message) : undefined;
}
