/** `sluice top`: a running server, live in the terminal; or one frame of it as plain text. */
import { Command } from "commander";
import { Refused } from "../client/api-client.ts";
import { InputError } from "../input/input-error.ts";
import { wholeSpanWithin } from "../input/readings.ts";
import type { Console } from "../terminal/console.ts";
import { frameOf, type Ranked, type Shown } from "../tools/top/frame.ts";
import { type Look, type Picture, pictureOf } from "../tools/top/picture.ts";
import { Terminal } from "../tools/top/terminal.ts";
import { Stranger, Watcher } from "../tools/top/watcher.ts";
import { addServerOptions, checkedUrl, clientOf, isKeyGiven } from "./client-command.ts";
import { addFlags, type Flag, readFlags } from "./command-flags.ts";

const OPS_URL_DEFAULT = "http://127.0.0.1:9080";
const INTERVAL_DEFAULT_MS = 2_000;
const CTRL_C = "\u0003";

const FLAGS: readonly Flag[] = [
  {
    name: "interval",
    value: "<time>",
    help: "the refresh interval; default 2s",
    rule: "whole milliseconds from 100ms to 1m",
    read: wholeSpanWithin(100, 60_000),
  },
  {
    name: "namespace",
    value: "<name>",
    help: "the namespace whose top identifiers are shown; default: the busiest",
    rule: "1 to 512 characters",
    read: (value) => (typeof value === "string" && value !== "" && [...value].length <= 512 ? value : undefined),
  },
];

export function topCommand(console: Console): Command {
  const command = new Command("top").description(
    "Watch a running server: rates, denials, latency, top identifiers, and the state of its layers. Press q or Ctrl-C to quit.",
  );
  addFlags(command, FLAGS)
    .option("--ops-url <url>", `the operators' listener (a URL; default ${OPS_URL_DEFAULT}, or SLUICE_OPS_URL)`)
    .option("--once", "print one frame as plain text, after one interval; the default if the output is not a terminal");
  return addServerOptions(command).action(async () => {
    const options = command.opts();
    const flags = readFlags(FLAGS, options);
    const opsUrl = opsUrlOf(options, console);
    const top = new Top(console, {
      opsUrl,
      everyMs: Number(flags["interval"] ?? INTERVAL_DEFAULT_MS),
      watcher: new Watcher({
        opsUrl,
        client: isKeyGiven(options, console.environment) ? clientOf(options, console) : null,
        namespace: flags["namespace"] as string | undefined,
        nowMs: console.nowMs,
      }),
    });
    if (options["once"] === true || console.screen === undefined) await top.once();
    else await top.live(new Terminal(console.screen, hasColours(console)));
  });
}

function opsUrlOf(options: Readonly<Record<string, unknown>>, { environment }: Console): string {
  if (options["opsUrl"] !== undefined) return checkedUrl(String(options["opsUrl"]), "--ops-url");
  const preset = environment["SLUICE_OPS_URL"];
  return preset === undefined || preset === "" ? OPS_URL_DEFAULT : checkedUrl(preset, "SLUICE_OPS_URL");
}

/** https://no-color.org */
function hasColours({ environment }: Console): boolean {
  return (environment["NO_COLOR"] ?? "") === "" && environment["TERM"] !== "dumb";
}

interface TopOptions {
  readonly opsUrl: string;
  readonly everyMs: number;
  readonly watcher: Watcher;
}

class Top {
  readonly #console: Console;
  readonly #options: TopOptions;
  #look: Look | undefined;
  #picture: Picture | null = null;
  #ranked: Ranked | string = "not requested yet";
  #trouble: Shown["trouble"] = null;
  #heardMs = Date.now();

  constructor(console: Console, options: TopOptions) {
    this.#console = console;
    this.#options = options;
  }

  /** Rejects where the server is away or refuses: a pipe has nobody to wait. */
  async once(): Promise<void> {
    await this.#lookOnce();
    await new Promise((resolve) => setTimeout(resolve, this.#options.everyMs));
    await this.#lookOnce();
    this.#console.out(
      this.#frame()
        .map(({ text }) => text)
        .join("\n"),
    );
  }

  /** Until it is told to end. Rejects, with the terminal as it was, where asking again will not help. */
  async live(terminal: Terminal): Promise<void> {
    const { screen, onStop } = this.#console;
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    onStop(end);
    const draw = () => terminal.draw(this.#frame(screen!.size().rows));
    terminal.enter();
    const undo = [
      screen!.onResize(draw),
      screen!.onKey((key) => {
        if (key === "q" || key === "Q" || key === CTRL_C) end();
      }),
    ];
    try {
      await Promise.race([ended, this.#follow(draw, ended)]);
    } finally {
      for (const restore of undo) restore();
      terminal.leave();
    }
  }

  async #follow(draw: () => void, ended: Promise<void>): Promise<void> {
    let isEnded = false;
    void ended.then(() => {
      isEnded = true;
    });
    while (!isEnded) {
      const beganMs = this.#console.nowMs();
      await this.#lookOnce().catch((error: unknown) => this.#note(error));
      if (isEnded) return;
      draw();
      const tookMs = this.#console.nowMs() - beganMs;
      await Promise.race([ended, pause(Math.max(0, this.#options.everyMs - tookMs), ended)]);
    }
  }

  async #lookOnce(): Promise<void> {
    const { watcher } = this.#options;
    const look = await watcher.look();
    this.#picture = pictureOf(look, this.#look, Date.now());
    this.#look = look;
    this.#ranked = await watcher.ranked(this.#picture);
    this.#trouble = null;
    this.#heardMs = Date.now();
  }

  /** @throws what will not go away by itself: a key that is refused, something else that answers. */
  #note(error: unknown): void {
    const isFinal = error instanceof Stranger || error instanceof InputError;
    const isRefused = error instanceof Refused && error.isForKey;
    if (isFinal || isRefused) throw error;
    this.#trouble = { why: (error as Error).message, sinceMs: this.#heardMs };
  }

  /** For a terminal of so many rows, or for none. */
  #frame(rows?: number) {
    const shown: Shown = {
      url: this.#options.opsUrl,
      wallMs: Date.now(),
      picture: this.#picture,
      trouble: this.#trouble,
      ranked: this.#ranked,
      isLive: rows !== undefined,
    };
    return frameOf(shown, rows);
  }
}

/** Leaves no timer behind when it is ended early. */
function pause(ms: number, ended: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void ended.then(() => clearTimeout(timer));
  });
}
