/** A client that somebody else connects, configures and closes, whichever package it is of. */
export interface ClientDriver {
  readonly isReady: boolean;
  /** Whether it looks for a key's node by itself. */
  readonly isCluster: boolean;
  /** Whether it sends a command again although its server may have executed it. */
  readonly mayResend: boolean;
  /** Sends a command that touches `key`. */
  send(key: string, args: readonly string[]): Promise<unknown>;
}
