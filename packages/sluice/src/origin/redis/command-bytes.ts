/**
 * Bytes of the commands that a Redis client has not answered yet: bounded, because a server that is slow must not fill the memory.
 *
 * A command counts until the client settles it, not until its caller gives up: until then the client holds it.
 */
import { RedisFailure } from "./failure.ts";

export const COMMANDS_MAX_BYTES: number = 32 * 2 ** 20;
/** An argument beside its text. */
const ARGUMENT_BYTES = 16;

export class CommandBytes {
  /** Of all commands under way. */
  total = 0;

  /** Sends a command, unless those under way take too much. Rejects with a RedisFailure then. */
  async run<Answer>(args: readonly string[], send: () => Promise<Answer>): Promise<Answer> {
    const bytes = args.reduce((sum, arg) => sum + ARGUMENT_BYTES + 2 * arg.length, 0);
    if (this.total > 0 && this.total + bytes > COMMANDS_MAX_BYTES) {
      throw new RedisFailure(
        "overload",
        `more than ${COMMANDS_MAX_BYTES / 2 ** 20} MiB of commands wait for an answer`,
      );
    }
    this.total += bytes;
    try {
      return await send();
    } finally {
      this.total -= bytes;
    }
  }
}
