/** What is answered to bytes that are no request: there is no route and no reply yet, only a socket. */
import type { Socket } from "node:net";
import { Problem, type ProblemKind } from "./problem.ts";
import { requestIds } from "./request-id.ts";
import type { RequestLog } from "./request-log.ts";

const KINDS: Readonly<Record<string, ProblemKind>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};
const DETAILS = {
  headers_too_large: "The headers are larger than this server takes.",
  request_timeout: "The request was not here whole in time.",
  invalid_input: "This is no HTTP request.",
} as const;
const nextId = requestIds();

/** What Node's server keeps of the answer that is under way on a socket; its own handler asks the same. */
interface AnsweringSocket extends Socket {
  readonly _httpMessage?: { readonly headersSent: boolean } | null;
}

/** A listener for a server's `clientError`. */
export function brokenRequestAnswer(
  requestLog: RequestLog | null,
): (error: NodeJS.ErrnoException, socket: AnsweringSocket) => void {
  return (error, socket) => {
    // Gone, or in the middle of an answer that must not be broken into.
    const isAnswering = socket._httpMessage?.headersSent === true;
    if (error.code === "ECONNRESET" || !socket.writable || isAnswering) {
      socket.destroy();
      return;
    }
    const kind = (KINDS[error.code ?? ""] ?? "invalid_input") as keyof typeof DETAILS;
    const problem = new Problem(kind, DETAILS[kind]);
    const requestId = nextId();
    const body = JSON.stringify(problem.toBody(requestId));
    socket.end(
      `HTTP/1.1 ${problem.status} ${problem.kind}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
    requestLog?.broken(requestId, kind);
  };
}
