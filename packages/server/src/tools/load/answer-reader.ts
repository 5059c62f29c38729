/**
 * Cuts the answers to one request at a time out of what a connection receives: HTTP/1.1 with a length, in chunks, or until the end.
 *
 * Text is latin1, a character a byte, so that lengths count bytes. It reads what a server of this API and the proxies before it
 * send; anything else is junk, and the connection is given up.
 */

export interface ReadAnswer {
  readonly status: number;
  readonly body: string;
  /** The server will close the connection. */
  readonly isLast: boolean;
}

/** The answers of this API have some hundred bytes, an error page of a proxy some thousand. */
const LENGTH_MAX = 256 * 1024;
const HEAD = /^HTTP\/1\.[01] (\d{3})[ \r]/;

export class AnswerReader {
  #text = "";

  /** Whether something has come that no answer was made of. */
  get hasRest(): boolean {
    return this.#text !== "";
  }

  /** The answer, if it is whole now; "junk" if this will never be one. */
  push(chunk: string): ReadAnswer | "junk" | undefined {
    this.#text = this.#text === "" ? chunk : this.#text + chunk;
    return this.#answer(false);
  }

  /** The connection has ended: an answer without a length is whole then. */
  end(): ReadAnswer | "junk" | undefined {
    return this.#text === "" ? undefined : this.#answer(true);
  }

  #answer(isEnd: boolean): ReadAnswer | "junk" | undefined {
    if (this.#text.length > LENGTH_MAX) return "junk";
    const headEnd = this.#text.indexOf("\r\n\r\n");
    if (headEnd === -1) return undefined;
    const head = this.#text.slice(0, headEnd + 2);
    const status = Number(HEAD.exec(head)?.[1]);
    if (Number.isNaN(status)) return "junk";
    const begin = headEnd + 4;
    if (status < 200) {
      this.#text = this.#text.slice(begin);
      return this.#answer(isEnd);
    }
    const cut = bodyOf(this.#text, begin, head, isEnd);
    if (cut === undefined || cut === "junk") return cut;
    this.#text = this.#text.slice(cut.end);
    return { status, body: cut.body, isLast: isEnd || /\r\nconnection: *close\r/i.test(head) };
  }
}

interface Cut {
  readonly body: string;
  /** Where the answer ends. */
  readonly end: number;
}

function bodyOf(text: string, begin: number, head: string, isEnd: boolean): Cut | "junk" | undefined {
  const length = /\r\ncontent-length: *(\d+)\r/i.exec(head)?.[1];
  if (length !== undefined) {
    const end = begin + Number(length);
    return text.length < end ? undefined : { body: text.slice(begin, end), end };
  }
  if (/\r\ntransfer-encoding: *chunked\r/i.test(head)) return chunksOf(text, begin);
  if (/^HTTP\/1\.[01] (204|304)/.test(head)) return { body: "", end: begin };
  return isEnd ? { body: text.slice(begin), end: text.length } : undefined;
}

function chunksOf(text: string, begin: number): Cut | "junk" | undefined {
  let body = "";
  let at = begin;
  for (;;) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const [, digits] = /^([0-9a-f]{1,8}) *(?:;.*)?$/i.exec(text.slice(at, lineEnd)) ?? [];
    if (digits === undefined) return "junk";
    const length = Number.parseInt(digits, 16);
    if (length === 0) return trailerOf(text, lineEnd, body);
    at = lineEnd + 2 + length + 2;
    if (text.length < at) return undefined;
    body += text.slice(lineEnd + 2, at - 2);
  }
}

/** Lines after the last chunk, mostly none, then an empty one. */
function trailerOf(text: string, lineEnd: number, body: string): Cut | undefined {
  const end = text.indexOf("\r\n\r\n", lineEnd);
  return end === -1 ? undefined : { body, end: end + 4 };
}
