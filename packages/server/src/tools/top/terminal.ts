/**
 * The terminal that `sluice top` draws on: its other screen, so that what was there comes back when it is left.
 *
 * Drawn over the last frame line by line, and never cleared in between: it does not flicker.
 */
import type { Screen } from "../../terminal/screen.ts";
import type { Line, Tone } from "./frame.ts";

const ESC = "\u001b[";
const ENTER = `${ESC}?1049h${ESC}?25l`;
const LEAVE = `${ESC}?25h${ESC}?1049l`;
const HOME = `${ESC}H`;
const CLEAR_LINE = `${ESC}K`;
const CLEAR_BELOW = `${ESC}J`;
const CODES: Readonly<Record<Tone, string>> = { plain: "", head: "1", good: "32", doubtful: "33", bad: "31", dim: "2" };

export class Terminal {
  readonly #screen: Screen;
  readonly #hasColours: boolean;

  constructor(screen: Screen, hasColours: boolean) {
    this.#screen = screen;
    this.#hasColours = hasColours;
  }

  enter(): void {
    this.#screen.write(ENTER);
  }

  leave(): void {
    this.#screen.write(LEAVE);
  }

  draw(lines: readonly Line[]): void {
    const { columns, rows } = this.#screen.size();
    const drawn = lines
      .slice(0, rows)
      .map(({ text, tone }) => `${this.#painted([...text].slice(0, columns).join(""), tone)}${CLEAR_LINE}`);
    this.#screen.write(`${HOME}${drawn.join("\r\n")}${CLEAR_BELOW}`);
  }

  #painted(text: string, tone: Tone): string {
    const code = CODES[tone];
    return this.#hasColours && code !== "" ? `${ESC}${code}m${text}${ESC}0m` : text;
  }
}
