/** The caller of an HTTP request, by the key in its header Authorization. */
import { type Caller, callerOf } from "../../access/caller.ts";
import type { Directory } from "../../admin/directory.ts";
import { Problem } from "../../contract/problem.ts";

const BEARER = "bearer ";

/**
 * @param ageMaxMs how old the directory may be; null: any age.
 * @throws Problem or Refusal
 */
export function authenticate(
  directory: Directory,
  authorization: string | undefined,
  nowMs: number,
  ageMaxMs: number | null,
): Caller {
  return callerOf(directory, tokenOf(authorization), nowMs, ageMaxMs);
}

function tokenOf(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw new Problem(
      "malformed_authorization",
      "The Authorization header is missing. Send 'Authorization: Bearer <root key>'.",
    );
  }
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) {
    throw new Problem("malformed_authorization", "The Authorization header must be 'Bearer <root key>'.");
  }
  const token = authorization.slice(BEARER.length).trim();
  if (token === "") throw new Problem("malformed_authorization", "The key in the Authorization header is empty.");
  return token;
}
