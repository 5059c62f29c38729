/** What a parent and its workers tell each other, beside the counts (sluice's own originHost) on the same channel. */
import type { ServerSettings } from "../config/settings.ts";
import type { LiveQuestion, LiveReading } from "../live/live-reading.ts";
import type { Reading } from "../metrics/reading.ts";
import type { TopQuestion, TopReading } from "../top-identifiers/top-identifiers.ts";
import type { Readiness } from "./readiness.ts";
import type { StopReport } from "./service.ts";

/** Says whose message it is, and of which version of these. */
const MARK = "sluice/worker/1";

/** What a worker may ask of all workers of its server. */
export interface Topics {
  readonly topIdentifiers: { readonly question: TopQuestion; readonly reading: TopReading };
  readonly live: { readonly question: LiveQuestion; readonly reading: LiveReading };
}
export type Topic = keyof Topics;

export type FromWorker =
  | { readonly kind: "born" }
  | { readonly kind: "listening"; readonly port: number }
  /** It could not start. */
  | { readonly kind: "failed"; readonly message: string; readonly hint: string }
  | { readonly kind: "readiness"; readonly readiness: Readiness }
  | { readonly kind: "reading"; readonly reading: Reading }
  | { readonly kind: "refreshed" }
  /** A client asks it something that only all workers together know. */
  | {
      readonly kind: "ask-all";
      readonly topic: Topic;
      readonly ask: number;
      readonly question: Topics[Topic]["question"];
    }
  /** The answer to `ask`. */
  | { readonly kind: "told"; readonly ask: number; readonly reading: Topics[Topic]["reading"] | null }
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
  | { readonly kind: "ask"; readonly topic: Topic; readonly ask: number; readonly question: Topics[Topic]["question"] }
  /** The answer to `ask-all`. */
  | { readonly kind: "all-told"; readonly ask: number; readonly reading: Topics[Topic]["reading"] }
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
