/**
 * Every bound of what a caller may ask for, in one place, each with its reason.
 *
 * Validation reads these; the texts of errors.ts repeat them in words, and a test holds the two together.
 */

/** Limits and costs: 2^40, so that sums of thousands of them stay exact in a double. */
export const LIMIT_MAX: number = 2 ** 40;
export const COST_MAX: number = 2 ** 40;

/**
 * A component: what one writer counts in one cell. Charges exceed limits, so it must end somewhere: 16 charges of the largest cost, and
 * 16 times the largest limit. From there on a charge adds nothing.
 */
export const COMPONENT_MAX: number = 2 ** 44;

/**
 * What a cell keeps of all other writers of its region, and of all other regions: a larger sum denies no more. With it everything that is
 * computed from a key's two cells is exact: `2 * (2^44 + 2 * 2^50) + 2^40 < 2^53`.
 */
export const SUM_MAX: number = 2 ** 50;

/** A sum in a store: the largest integer that is exact in a double. Stores stop there instead of rounding. */
export const COUNT_MAX: number = Number.MAX_SAFE_INTEGER;

/** Limits of one reservation: a list is one step of the origin. */
export const RESERVE_MAX = 16;
/** Living holds of one key: the origin scans them when one has expired, for about 2 µs each. */
export const HOLDS_MAX_DEFAULT = 1_000;
export const HOLDS_MAX_MAX = 5_000;
/** Reservations of one process that are open. */
export const HOLDS_OPEN_MAX = 100_000;
/** How long a hold lives that nobody settles. */
export const TTL_MAX_MS = 3_600_000;
export const TTL_DEFAULT_MS = 300_000;

export const DURATION_MIN_MS = 1_000;
export const DURATION_MAX_MS: number = 30 * 24 * 60 * 60 * 1_000;

/** Workspace, namespace and identifier, in Unicode characters (code points). */
export const PART_LENGTH_MAX = 512;

/** Items of one batch: ten times the 100 that the HTTP API takes; the work of a batch is one uninterrupted turn. */
export const BATCH_MAX = 1_000;

export const CELLS_MAX_MIN = 1;
/** 24 bits of an index entry name a slot, and 0 means empty: 2^24 - 1 slots, rounded down. */
export const CELLS_MAX_MAX = 16_000_000;
/** 2^20 keys: what a busy gateway sees within its longest common window; 144 MiB of address space, paid for as it fills. */
export const CELLS_MAX_DEFAULT = 1_048_576;

/** A sequence is kept in 32 bits: with the shortest window, wall time may run to (2^32 - 2) * 1 s, the year 2106. */
export const WALL_MAX_MS: number = (2 ** 32 - 2) * DURATION_MIN_MS;

/** After a backward jump of up to this, time runs at half speed until the wall clock has caught up; a larger one is followed. */
export const CLOCK_HOLD_MAX_MS = 5_000;

export const REGION_LENGTH_MAX = 64;

/** A flush must come several times within the shortest window, or nothing of it would be heard in time. */
export const FLUSH_MIN_MS = 5;
export const FLUSH_MAX_MS = 1_000;
export const FLUSH_DEFAULT_MS = 50;

/** No request waits longer than this for the origin. */
export const READ_TIMEOUT_MIN_MS = 1;
export const READ_TIMEOUT_MAX_MS = 300;

export const COMMANDS_PER_SECOND_MIN = 20;
export const COMMANDS_PER_SECOND_MAX = 10_000_000;
export const COMMANDS_PER_SECOND_DEFAULT = 50_000;

/** Publish and import: from ten times a second to as rarely as the shortest window they serve. */
export const ROUND_MIN_MS = 100;
export const ROUND_DEFAULT_MS = 1_000;
export const GLOBAL_DURATION_MIN_DEFAULT_MS = 60_000;
export const ERROR_BUDGET_DEFAULT = 0.02;

/** Rows of a region in the global store: at most as many as a process can hold keys, by default what is read in some seconds. */
export const ROWS_MAX_MIN = 1;
export const ROWS_MAX_MAX = 16_000_000;
export const NAMESPACE_ROWS_MAX_DEFAULT = 100_000;
export const WORKSPACE_ROWS_MAX_DEFAULT = 200_000;

/** Nothing waits longer than this for its turn: after two windows of the longest duration, all that was counted is over. */
export const TAKE_WAIT_MAX_MS: number = 2 * DURATION_MAX_MS;

export const CLOSE_TIMEOUT_MAX_MS = 60_000;
export const CLOSE_TIMEOUT_DEFAULT_MS = 5_000;

export const READY_TIMEOUT_MAX_MS = 60_000;
/** The longest time that a server that has just started stays out of service because a store does not answer. */
export const READY_TIMEOUT_DEFAULT_MS = 5_000;
