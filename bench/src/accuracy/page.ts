/** docs/accuracy.md, from the figures. */
import { markdownTable } from "../table.ts";
import { type Accuracy, LIMIT, measureAccuracy } from "./measure.ts";
import { SHAPES } from "./shapes.ts";

const WINDOWS = 60;
const SEED = 1;

/** The figures of every shape; the same ones each time. */
export function measureAll(onShape: (name: string) => void): Accuracy[] {
  return SHAPES.map((shape) => {
    onShape(shape.name);
    return measureAccuracy(shape, WINDOWS, SEED);
  });
}

const percent = (part: number): string => `${(100 * part).toFixed(part !== 0 && part < 0.001 ? 2 : 1)} %`;

export function accuracyPage(figures: readonly Accuracy[]): string {
  const header = ["shape", "asked", "mean", "too high", "too low", "denied", "allowed", "D ms", "window"];
  const rows = figures.map((figure) => [
    figure.shape,
    SHAPES.find(({ name }) => name === figure.shape)!.about,
    percent(figure.errorMean),
    percent(figure.overMost),
    percent(figure.underMost),
    percent(figure.wronglyDenied),
    percent(figure.wronglyAllowed),
    figure.admittedMost.toFixed(2),
    figure.windowMost.toFixed(2),
  ]);
  return `# How good the sliding window is by itself

One process alone, ${WINDOWS} windows of a minute, a limit of ${LIMIT.toLocaleString("en")}: everything here is the arithmetic of the window, and nothing is
distributed. \`npm run accuracy -- --write\` makes this page (seed ${SEED}).

A limit says "${LIMIT.toLocaleString("en")} a minute"; an exact log would keep the time of every accepted request and count those of the last minute.
Sluice keeps two numbers a key, and takes the previous window for evenly used. _mean_, _too high_ and _too low_ are the estimate
against the log, in parts of the limit, at the requests; _denied_ and _allowed_ are the requests that the log would have answered
otherwise; _D ms_ is the most that was admitted in any 60 s, and _window_ the most in one window, ÷ limit.

${markdownTable(header, rows)}

- A window never admits more than its limit: that is exact.
- Any D milliseconds never admit more than twice the limit. The boundary attack comes closest: the whole limit at the end of a
  window, and then what each moment of the next one has room for.
- Against even traffic, at chance or in a beat, the estimate is within a few percent of the log on average; a single moment may be far off.
- "Never denied by mistake" speaks of this estimate, made by a perfect global counter: not of a log, which no limiter of bounded
  memory has. Where the last window was used early, the estimate is above the log, and the column _denied_ says how often that mattered.

![The estimate and the exact log over time, one plot a shape](plots/accuracy.svg)
`;
}
