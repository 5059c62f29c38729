/**
 * The page's side of the public API: every call is a POST with the key of the person who signed in, and nothing else.
 *
 * The key is held here and in `sessionStorage` if the person chose so: never in a URL, never in a cookie.
 */
import { signal } from "@preact/signals";

const STORED = "sluice.key";

/** The key that calls are made with; null: nobody has signed in. */
export const key = signal<string | null>(sessionStorage.getItem(STORED));

export function keep(token: string, isRemembered: boolean): void {
  if (isRemembered) sessionStorage.setItem(STORED, token);
  key.value = token;
}

export function forget(): void {
  sessionStorage.removeItem(STORED);
  key.value = null;
}

/** Why a call was refused, in the server's words. */
export class CallError extends Error {
  override readonly name = "CallError";
  /** 0: the server cannot be reached. */
  readonly status: number;
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor: string | null;
}

interface Reply<Data> {
  readonly data: Data;
  readonly pagination?: { readonly hasMore: boolean; readonly cursor?: string };
}

export async function call<Data>(operation: string, body: object = {}, token = key.value): Promise<Data> {
  return (await reply<Data>(operation, body, token)).data;
}

export async function callPage<Item>(operation: string, body: object): Promise<Page<Item>> {
  const { data, pagination } = await reply<Item[]>(operation, body, key.value);
  return { items: data, cursor: pagination?.hasMore === true ? (pagination.cursor ?? null) : null };
}

async function reply<Data>(operation: string, body: object, token: string | null): Promise<Reply<Data>> {
  const response = await send(operation, body, token);
  return (await response.json()) as Reply<Data>;
}

/** @throws CallError */
export async function send(
  operation: string,
  body: object,
  token: string | null,
  signal?: AbortSignal,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/v2/${operation}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token ?? ""}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new CallError(0, "", "The server cannot be reached. Trying again.");
  }
  if (response.ok) return response;
  const problem = (await response.json().catch(() => null)) as { error?: { detail?: string; type?: string } } | null;
  const detail = problem?.error?.detail ?? `The server answered with status ${response.status}.`;
  // The key was revoked, or has expired: whatever is shown, it may not be any more.
  if (response.status === 401 && token === key.value) forget();
  throw new CallError(response.status, problem?.error?.type ?? "", detail);
}
