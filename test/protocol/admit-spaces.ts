/** The spaces of the `admit` model that are explored: the rules as they are, and one deliberate mistake each. */
import type { AdmitSpace } from "./admit-state.ts";

export interface SoundSpace {
  readonly name: string;
  readonly space: AdmitSpace;
  /** How many states it has. Another number is another model. */
  readonly states: number;
}

export interface PlantedSpace {
  readonly name: string;
  readonly space: AdmitSpace;
  /** What is found, in how many steps, and after how many states. */
  readonly found: string;
  readonly steps: number;
  readonly states: number;
}

const TWO = [
  [1, 1],
  [1, 1],
];
const THREE = [[1, 1, 1], [1]];
const MIXED = [
  [2, 1],
  [1, 1],
];
/** Both processes can be denied a cost of 2 while there is room for 1: strict, with something left to compete for. */
const BOTH = [
  [1, 2, 1],
  [2, 1],
];

export const SOUND_SPACES: readonly SoundSpace[] = [
  { name: "2 + 2 requests, limit 2", space: { costs: TWO }, states: 2454589 },
  { name: "2 + 2 requests, limit 3", space: { costs: TWO, limit: 3, flushes: 1 }, states: 122440 },
  { name: "costs 2 and 1, limit 3", space: { costs: MIXED, limit: 3, flushes: 1 }, states: 75665 },
  {
    name: "both strict with room left: costs 1, 2, 1 and 2, 1, limit 2",
    space: { costs: BOTH, flushes: 1 },
    states: 22118,
  },
  {
    name: "both strict with room left, limit 3, the driver resends",
    space: {
      costs: [
        [2, 2, 1],
        [2, 1],
      ],
      limit: 3,
      flushes: 0,
      repeats: "unanswered",
    },
    states: 10594,
  },
  {
    name: "both strict with room left, limit 3, 3 + 3 requests",
    space: {
      costs: [
        [2, 2, 1],
        [2, 1, 1],
      ],
      limit: 3,
      flushes: 1,
    },
    states: 169082,
  },
  { name: "3 + 1 requests, limit 2, 1 crash", space: { costs: THREE, crashes: 1 }, states: 794571 },
  {
    name: "3 + 2 requests, limit 3",
    space: {
      costs: [
        [1, 1, 1],
        [1, 1],
      ],
      limit: 3,
      flushes: 1,
    },
    states: 678752,
  },
  {
    name: "2 + 2 requests, the driver resends, 1 crash",
    space: { costs: TWO, repeats: "unanswered", crashes: 1, flushes: 1 },
    states: 687684,
  },
  {
    name: "2 + 2 requests, the network repeats anything at any time",
    space: { costs: TWO, repeats: "any", flushes: 1 },
    states: 1796548,
  },
  {
    name: "2 + 1 requests, 1 charge, the network repeats",
    space: { costs: [[1, 1], [1]], repeats: "any", charges: 1, flushes: 1 },
    states: 1605110,
  },
  {
    name: "2 + 1 requests, 1 eviction, 1 crash",
    space: { costs: [[1, 1], [1]], evictions: 1, crashes: 1 },
    states: 658647,
  },
  {
    name: "2 + 1 requests, 1 eviction, 1 charge, the network repeats",
    space: { costs: [[1, 1], [1]], evictions: 1, charges: 1, repeats: "any", flushes: 1 },
    states: 2961006,
  },
  { name: "2 + 2 requests, the window ends", space: { costs: TWO, rollover: true, flushes: 1 }, states: 1421583 },
  {
    name: "2 + 1 requests, the window ends, 1 charge, 1 eviction",
    space: { costs: [[1, 1], [1]], rollover: true, charges: 1, evictions: 1, flushes: 1 },
    states: 1760547,
  },
  {
    name: "2 + 1 requests, emptied, never confirmed by itself, 1 crash",
    space: { costs: [[1, 1], [1]], loss: "emptied", crashes: 1, flushes: 1 },
    states: 671174,
  },
  {
    name: "1 + 1 requests, emptied, 2 flushes each, never confirmed by itself",
    space: { costs: [[1], [1]], limit: 1, loss: "emptied" },
    states: 2730519,
  },
  {
    name: "2 + 1 requests, emptied, the driver resends",
    space: { costs: [[1, 1], [1]], loss: "emptied", repeats: "unanswered", flushes: 1 },
    states: 989530,
  },
  {
    name: "1 + 1 requests, emptied, 2 flushes each, confirmed by a beat of the same life",
    space: { costs: [[1], [1]], limit: 1, loss: "emptied", confirm: "life" },
    states: 2797191,
  },
  {
    name: "1 + 1 requests, goes back, 1 flush each, never confirmed by itself",
    space: { costs: [[1], [1]], limit: 2, loss: "rollback", flushes: 1 },
    states: 92375,
  },
  {
    name: "1 + 1 requests, goes back, 2 flushes each, confirmed by a beat of the same life",
    space: { costs: [[1], [1]], limit: 2, loss: "rollback", confirm: "life" },
    states: 17178412,
  },
  {
    name: "2 + 0 requests, goes back, 3 flushes, confirmed by a beat of the same life",
    space: { costs: [[1, 1], []], limit: 3, loss: "rollback", confirm: "life", flushes: 3 },
    states: 379170,
  },
  {
    name: "1 + 0 requests, goes back, 2 flushes, confirmed by a beat of the same life, 1 charge",
    space: { costs: [[1], []], limit: 3, loss: "rollback", confirm: "life", charges: 1 },
    states: 744984,
  },
  {
    name: "2 + 2 requests, 2 + 2 flushes, confirmed by a beat of the same life",
    space: { costs: TWO, confirm: "life" },
    states: 2999233,
  },
];

export const PLANTED_SPACES: readonly PlantedSpace[] = [
  {
    name: "a lost reply is answered with a denial",
    space: { costs: TWO, mistakes: { lostDenied: true } },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 3,
    states: 14,
  },
  {
    name: "of a lost reply only the first cost is kept",
    space: { costs: THREE, limit: 3, mistakes: { lostFirstOnly: true } },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 6,
    states: 374,
  },
  {
    name: "a lost reply is decided from memory",
    space: { costs: TWO, flushes: 1, mistakes: { lostByMemory: true } },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 12,
    states: 15025,
  },
  {
    name: "a call carries more than fits memory together",
    space: { costs: THREE, mistakes: { sendsAll: true } },
    found: "A6: a process accepted more than the limit by its own count",
    steps: 5,
    states: 150,
  },
  {
    name: "a late reply is counted again",
    space: { costs: TWO, mistakes: { lateApplied: true } },
    found: "A2: a view exceeds the true total",
    steps: 4,
    states: 35,
  },
  {
    name: "a reply is counted in the window of its arrival",
    space: { costs: [[1], [1]], rollover: true, mistakes: { rotated: true } },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 4,
    states: 57,
  },
  {
    name: "a reply is counted under a new writer id",
    space: { costs: [[1], [1]], evictions: 1, mistakes: { evictsInFlight: true, oldWriter: true } },
    found: "A4: a process's own total is not what it accepted",
    steps: 4,
    states: 37,
  },
  {
    name: "a lost reply is counted under a new writer id",
    space: { costs: [[1], [1]], evictions: 1, mistakes: { evictsInFlight: true, lostUnderNewWriter: true } },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 4,
    states: 39,
  },
  {
    name: "a replay assigns instead of raising",
    space: { costs: TWO, limit: 3, mistakes: { assigns: true } },
    found: "A4: a total that counts as confirmed is not at the origin, and no heartbeat shows it",
    steps: 9,
    states: 3664,
  },
  {
    name: "the cost is relative, and the driver resends",
    space: { costs: [[1], [1]], repeats: "unanswered", mistakes: { relative: true, resentCounts: true } },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 3,
    states: 13,
  },
  {
    name: "the cost is relative, and the network repeats",
    space: { costs: [[1], [1]], limit: 3, repeats: "any", mistakes: { relative: true } },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 3,
    states: 15,
  },
  {
    name: "a driver resends, the answer to the second copy counts, and the origin is emptied",
    space: {
      costs: [[1, 1], [1]],
      loss: "emptied",
      repeats: "unanswered",
      flushes: 1,
      mistakes: { resentCounts: true },
    },
    found: "A2: a view exceeds the true total",
    steps: 13,
    states: 323525,
  },
  {
    name: "a driver resends, and delivers the answer to the first copy",
    space: {
      costs: [[1, 1], [1]],
      loss: "emptied",
      repeats: "unanswered",
      flushes: 1,
      mistakes: { answersOfBoth: true, resentCounts: true },
    },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 9,
    states: 39742,
  },
  {
    name: "a repeated call answers allowed without counting",
    space: { costs: [[1], [1]], limit: 3, charges: 1, mistakes: { targetAlways: true } },
    found: "A3: a strict allow that the origin has not counted",
    steps: 5,
    states: 245,
  },
  {
    name: "own is raised before the answer, and kept on a denial",
    space: { costs: [[1], [1]], limit: 1, mistakes: { ownFirst: true } },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 3,
    states: 21,
  },
  {
    name: "own becomes the origin's component",
    space: { costs: [[1], [1]], limit: 3, charges: 1, mistakes: { ownIsComponent: true } },
    found: "A4: a process's own total is not what it accepted",
    steps: 4,
    states: 74,
  },
  {
    name: "a strict allow rests on an earlier call",
    space: { costs: BOTH, flushes: 0, mistakes: { strictShared: true } },
    found: "A3: both processes are strict, and together they exceed the limit",
    steps: 9,
    states: 587,
  },
  {
    name: "a strict allow rests on a read",
    space: { costs: BOTH, flushes: 1, mistakes: { countsLater: true } },
    found: "A3: both processes are strict, and together they exceed the limit",
    steps: 13,
    states: 6728,
  },
  {
    name: "memory allows beside a call",
    space: { costs: THREE, limit: 2, mistakes: { memoryBesideCall: true } },
    found: "A6: a process accepted more than the limit by its own count",
    steps: 8,
    states: 1719,
  },
  {
    name: "costs are decided in reverse order",
    space: { costs: THREE, limit: 2, mistakes: { reversed: true, sendsAll: true } },
    found: "A7: of one call, a later request was admitted and an earlier one of no higher cost was denied",
    steps: 5,
    states: 148,
  },
  {
    name: "denied by the window in which it was sent",
    space: { costs: [[2], [1]], limit: 2, rollover: true, flushes: 0, mistakes: { deniedAsSent: true } },
    found: "A2: a request was denied although it fits the true total",
    steps: 6,
    states: 238,
  },
  {
    name: "confirmed by its answer, and the origin is emptied",
    space: { costs: [[1], [1]], loss: "emptied", confirm: "answer" },
    found: "A4: a total that counts as confirmed is not at the origin, and no heartbeat shows it",
    steps: 4,
    states: 56,
  },
  {
    name: "confirmed by its answer, and the origin goes back",
    space: { costs: [[1], [1]], loss: "rollback", confirm: "answer" },
    found: "A4: a total that counts as confirmed is not at the origin, and no heartbeat shows it",
    steps: 5,
    states: 454,
  },
  {
    name: "confirmed by the next beat of any life",
    space: { costs: [[1], []], loss: "rollback", confirm: "beat", flushes: 3 },
    found: "A4: a total that counts as confirmed is not at the origin, and no heartbeat shows it",
    steps: 8,
    states: 2662,
  },
  {
    name: "not covered: the network repeats an answered call, and the origin is emptied in between",
    space: { costs: [[1], [1]], limit: 1, loss: "emptied", repeats: "any" },
    found: "A1: a component at the origin exceeds what its writer accepted",
    steps: 7,
    states: 5398,
  },
];
