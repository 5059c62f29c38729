/**
 * Ten traffic shapes: when requests come, and what they cost, in units of the window and of the limit.
 *
 * `rate` is asked for at a moment in windows since the start, as a multiple of the limit a window.
 */
import type { Random } from "../seeded-random.ts";

export interface Shape {
  readonly name: string;
  readonly about: string;
  /** Asked at `at` windows since the start, in limits a window. */
  rate(at: number): number;
  /** Arrivals at chance (true) or in a steady beat. */
  readonly isRandom: boolean;
  /** What one request costs; 1 unless said. */
  cost?(random: Random): number;
}

const phase = (at: number): number => at - Math.floor(at);

export const SHAPES: readonly Shape[] = [
  { name: "half", about: "a steady beat at half the limit", rate: () => 0.5, isRandom: false },
  { name: "just under", about: "arrivals at chance, 0.95 of the limit", rate: () => 0.95, isRandom: true },
  { name: "at the limit", about: "arrivals at chance, exactly the limit", rate: () => 1, isRandom: true },
  { name: "three times", about: "arrivals at chance, three times the limit", rate: () => 3, isRandom: true },
  {
    name: "early bursts",
    about: "everything in the first tenth of each window, twice the limit",
    rate: (at) => (phase(at) < 0.1 ? 20 : 0),
    isRandom: true,
  },
  {
    name: "late bursts",
    about: "everything in the last tenth of each window, twice the limit",
    rate: (at) => (phase(at) > 0.9 ? 20 : 0),
    isRandom: true,
  },
  {
    name: "boundary attack",
    about: "the limit at the end of every second window, then as much as goes until the next one's end",
    rate: (at) => (Math.floor(at) % 2 === 0 ? (phase(at) > 0.98 ? 50 : 0) : 10),
    isRandom: false,
  },
  {
    name: "square wave",
    about: "on and off every 0.7 windows, twice the limit while on",
    rate: (at) => (Math.floor(at / 0.7) % 2 === 0 ? 2 : 0),
    isRandom: true,
  },
  {
    name: "tide",
    about: "a wave of eight windows between nothing and twice the limit",
    rate: (at) => 1 + Math.sin((at * Math.PI) / 4),
    isRandom: true,
  },
  {
    name: "heavy costs",
    about: "few requests with costs of a long tail, 1.5 times the limit",
    rate: () => 1.5,
    isRandom: true,
    // Pareto with a shape of 1.5, cut at a tenth of the limit.
    cost: (random) => Math.min(100, Math.ceil((1 - random()) ** (-1 / 1.5))),
  },
];
