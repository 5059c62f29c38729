/** Every way in which a simulated world can go wrong, by name. Each is counted each time it happens (faults.ts). */

/** Happen to one message each, while a storm is over its link. */
export type MessageFault = "message-lost" | "message-delayed" | "message-repeated" | "message-reordered" | "reply-lost";

export type FaultKind =
  | MessageFault
  | "link-cut-one-way"
  | "link-cut"
  | "links-healed-out-of-order"
  | "origin-stalled"
  | "origin-restarted-empty"
  | "origin-lost-keys"
  | "origin-rolled-back"
  | "origin-refused-writes"
  | "origin-errors"
  | "global-away"
  | "global-slow"
  | "global-lagging"
  | "global-lost-table"
  | "global-deadlock"
  | "process-killed"
  | "process-stopped"
  | "process-frozen"
  | "clock-skewed"
  | "clock-drifting"
  | "clock-jumped-forward"
  | "clock-jumped-back";

export const MESSAGE_FAULTS: readonly MessageFault[] = [
  "message-lost",
  "message-delayed",
  "message-repeated",
  "message-reordered",
  "reply-lost",
];

/** The groups that a seed switches on or off as a whole, and that a reduction switches off one by one. */
export const FAULT_GROUPS: readonly (readonly FaultKind[])[] = [
  MESSAGE_FAULTS,
  ["link-cut-one-way", "link-cut", "links-healed-out-of-order"],
  [
    "origin-stalled",
    "origin-restarted-empty",
    "origin-lost-keys",
    "origin-rolled-back",
    "origin-refused-writes",
    "origin-errors",
  ],
  ["global-away", "global-slow", "global-lagging", "global-lost-table", "global-deadlock"],
  ["process-killed", "process-stopped", "process-frozen"],
  ["clock-skewed", "clock-drifting", "clock-jumped-forward", "clock-jumped-back"],
];

export const FAULT_KINDS: readonly FaultKind[] = FAULT_GROUPS.flat();

/** The faults after which a store may have forgotten what it was told. */
export const LOSES_DATA: ReadonlySet<FaultKind> = new Set<FaultKind>([
  "origin-restarted-empty",
  "origin-lost-keys",
  "origin-rolled-back",
  "global-lost-table",
]);
