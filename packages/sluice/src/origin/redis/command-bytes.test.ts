import { describe, expect, test } from "vitest";
import { COMMANDS_MAX_BYTES, CommandBytes } from "./command-bytes.ts";
import { RedisFailure } from "./failure.ts";

describe("commands under way", () => {
  test("beyond 32 MiB are refused as an overload, until some are answered", async () => {
    const commands = new CommandBytes();
    const answers: (() => void)[] = [];
    const args = ["EVALSHA", "x".repeat(2 ** 20)];
    const send = () => commands.run(args, () => new Promise<void>((resolve) => answers.push(resolve)));
    const sent: Promise<unknown>[] = [];
    while (commands.total + 2 * 2 ** 20 + 100 < COMMANDS_MAX_BYTES) sent.push(send());
    await expect(send()).rejects.toMatchObject({ kind: "overload" });
    expect(commands.total).toBeLessThanOrEqual(COMMANDS_MAX_BYTES);
    answers.shift()?.();
    await sent.shift();
    sent.push(send());
    for (const answer of answers) answer();
    await Promise.all(sent);
    expect(commands.total).toBe(0);
  });

  test("one that fails is no longer counted, and one alone is sent however large it is", async () => {
    const commands = new CommandBytes();
    const fails = () => Promise.reject(new RedisFailure("connection", "away"));
    await expect(commands.run(["x".repeat(20 * 2 ** 20)], fails)).rejects.toThrow("away");
    expect(commands.total).toBe(0);
    expect(await commands.run(["x".repeat(20 * 2 ** 20)], async () => "OK")).toBe("OK");
  });
});
