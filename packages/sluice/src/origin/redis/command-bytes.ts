/**
 * Bytes of the commands that Redis has not answered yet: bounded, because a server that is slow must not fill the memory.
 *
 * A command counts until its reply arrives or its connection ends, not until its caller gives up: until then it is held.
 */
import { RedisFailure } from "./failure.ts";

export const COMMANDS_MAX_BYTES: number = 32 * 2 ** 20;
/** An argument beside its text. */
const ARGUMENT_BYTES = 16;

export class CommandBytes {
  /** Of all commands under way. */
  total = 0;

  /** Counts a command, unless those under way take too much: then says so, and counts nothing. */
  take(bytes: number): RedisFailure | null {
    if (this.total > 0 && this.total + bytes > COMMANDS_MAX_BYTES) {
      return new RedisFailure(
        "overload",
        `more than ${COMMANDS_MAX_BYTES / 2 ** 20} MiB of commands wait for an answer`,
      );
    }
    this.total += bytes;
    return null;
  }

  give(bytes: number): void {
    this.total -= bytes;
  }

  /** Sends a command through a client, unless those under way take too much. Rejects with a RedisFailure then. */
  async run<Answer>(args: readonly string[], send: () => Promise<Answer>): Promise<Answer> {
    const bytes = args.reduce((sum, arg) => sum + ARGUMENT_BYTES + 2 * arg.length, 0);
    const refusal = this.take(bytes);
    if (refusal !== null) throw refusal;
    try {
      return await send();
    } finally {
      this.give(bytes);
    }
  }
}
