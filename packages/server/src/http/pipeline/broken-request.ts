/**
 * The answer to bytes that are not a request, or to a request that did not arrive in time. There is no route and no response object,
 * only a socket. Requests that arrived whole before those bytes are answered first; connections.ts sees to that, and to the end of the
 * connection.
 */
import type { Socket } from "node:net";
import { Problem, type ProblemKind } from "../../contract/problem.ts";
import type { Connections } from "./connections.ts";
import { requestIds } from "./request-id.ts";
import type { RequestLog } from "./request-log.ts";

const KINDS: Readonly<Record<string, ProblemKind>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};
const DETAILS = {
  headers_too_large: "The headers are larger than this server accepts.",
  request_timeout: "The request was not received in time.",
  invalid_input: "This is not an HTTP request.",
} as const;
const nextId = requestIds();

/** A listener for a server's `clientError`. */
export function brokenRequestAnswer(
  connections: Connections,
  requestLog: RequestLog | null,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    // The client is gone, or the handshake of TLS failed.
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    connections.endAfterAnswers(socket, () => {
      const kind = (KINDS[error.code ?? ""] ?? "invalid_input") as keyof typeof DETAILS;
      const requestId = nextId();
      requestLog?.broken(requestId, kind);
      return textOf(new Problem(kind, DETAILS[kind]), requestId);
    });
  };
}

function textOf(problem: Problem, requestId: string): string {
  const body = JSON.stringify(problem.toBody(requestId));
  const length = Buffer.byteLength(body);
  return `HTTP/1.1 ${problem.status} ${problem.kind}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`;
}
