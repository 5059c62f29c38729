/**
 * The bodies and answers of the HTTP API: one source for validation, serialisation and the OpenAPI document.
 *
 * Every field carries a `rule`: the text of the error that a wrong value gets.
 */
import type { Reason } from "sluice";
import { type TSchema, Type } from "typebox";
import { HIT_BY, type HitBy } from "../hitters/hitters.ts";
import { REASONS } from "../metrics/tally.ts";

/** 2^40, the library's largest limit and cost. */
const COUNT_MAX = 2 ** 40;
const DURATION_MIN_MS = 1000;
const DURATION_MAX_MS = 2_592_000_000;
const BATCH_MAX = 100;
const PAGE_MAX = 100;
export const PAGE_DEFAULT = 10;
/** An override's identifier and cursors are as long as identifiers are. */
const TEXT_MAX = 512;

const strict = { additionalProperties: false } as const;

const text = (description: string, examples: string[]) =>
  Type.String({
    minLength: 1,
    maxLength: TEXT_MAX,
    rule: `a text of 1 to ${TEXT_MAX} characters`,
    description,
    examples,
  });
const integer = (minimum: number, maximum: number, description: string, examples: number[]) =>
  Type.Integer({ minimum, maximum, rule: `an integer from ${minimum} to ${maximum}`, description, examples });
const moment = (description: string) => integer(0, Number.MAX_SAFE_INTEGER, description, [1_767_225_600_000]);
const flag = (description: string) => Type.Boolean({ rule: "true or false", description });

const namespace = text("The namespace: its name or its id.", ["email.outbound"]);
const identifier = text("Who or what is limited.", ["user_123"]);
const pattern = text(
  "The identifier that the override is for, or a pattern: `*` is any run of characters, everything else is literal.",
  ["premium_*"],
);
const limit = integer(1, COUNT_MAX, "How much cost fits in one window.", [100]);
const overrideLimit = integer(0, COUNT_MAX, "How much cost fits in one window; 0 is a ban.", [1000]);
const duration = integer(DURATION_MIN_MS, DURATION_MAX_MS, "The window in milliseconds: 1 s to 30 d.", [60_000]);
const cost = integer(0, COUNT_MAX, "What this request costs; 0 asks and takes nothing. 1 if not given.", [1]);
const shadow = flag("Count and report, and never deny.");
const pageLimit = integer(1, PAGE_MAX, `How many to give at most; ${PAGE_DEFAULT} if not given.`, [PAGE_DEFAULT]);

const UNLESS_OVERRIDDEN = "Required unless an override applies to the identifier, whose value is used then.";

export const LimitBody = Type.Object({ namespace, identifier, limit, duration, cost: Type.Optional(cost) }, strict);
export type LimitBody = Type.Static<typeof LimitBody>;

export const MultiLimitBody = Type.Array(LimitBody, {
  minItems: 1,
  maxItems: BATCH_MAX,
  rule: `an array of 1 to ${BATCH_MAX} items`,
});
export type MultiLimitBody = Type.Static<typeof MultiLimitBody>;

export const InspectBody = Type.Object(
  {
    namespace,
    identifier,
    limit: Type.Optional(integer(0, COUNT_MAX, `How much cost fits in one window. ${UNLESS_OVERRIDDEN}`, [1000])),
    duration: Type.Optional(
      integer(
        DURATION_MIN_MS,
        DURATION_MAX_MS,
        `The window in milliseconds: 1 s to 30 d. ${UNLESS_OVERRIDDEN}`,
        [60_000],
      ),
    ),
    cost: Type.Optional(cost),
  },
  {
    ...strict,
    description:
      "Without an override for the identifier, `limit` and `duration` are required: a body without them is answered 400.",
  },
);
export type InspectBody = Type.Static<typeof InspectBody>;

export const TopIdentifiersBody = Type.Object(
  {
    namespace,
    by: Type.Optional(
      Type.Unsafe<HitBy>({
        type: "string",
        enum: HIT_BY,
        rule: HIT_BY.map((one) => JSON.stringify(one)).join(" or "),
        description: "`use`: accepted cost, if not given. `denials`: checks that were denied or would have been.",
      }),
    ),
    limit: Type.Optional(pageLimit),
  },
  strict,
);
export type TopIdentifiersBody = Type.Static<typeof TopIdentifiersBody>;

export const SetOverrideBody = Type.Object(
  { namespace, identifier: pattern, limit: overrideLimit, duration, shadow: Type.Optional(shadow) },
  strict,
);
export type SetOverrideBody = Type.Static<typeof SetOverrideBody>;

export const OverrideBody = Type.Object({ namespace, identifier: pattern }, strict);
export type OverrideBody = Type.Static<typeof OverrideBody>;

const CURSOR = {
  rule: "the cursor of an earlier answer",
  description: "Where to go on: the cursor of the answer before.",
};
const cursor = Type.String({
  minLength: 1,
  // Base64 for URLs: whole groups, then none, 2 or 3 characters whose last one has no bits to spare.
  pattern: "^(?:[\\w-]{4})*(?:[\\w-][AQgw]|[\\w-]{2}[AEIMQUYcgkosw048])?$",
  // Up to 4 bytes a character, 4 characters for 3 bytes, and an id.
  maxLength: 8 * TEXT_MAX,
  ...CURSOR,
});

export const ListOverridesBody = Type.Object(
  { namespace, limit: Type.Optional(pageLimit), cursor: Type.Optional(cursor) },
  strict,
);
export type ListOverridesBody = Type.Static<typeof ListOverridesBody>;

export const ListNamespacesBody = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(cursor),
    deleted: Type.Optional(flag("Deleted ones, too.")),
  },
  strict,
);
export type ListNamespacesBody = Type.Static<typeof ListNamespacesBody>;

export const ListChangesBody = Type.Object(
  {
    namespace: Type.Optional(text("Changes of this namespace and its overrides alone: its name or its id.", ["api"])),
    actor: Type.Optional(text("Changes by this one alone: `key:key_…`, `cli:<user>` or `server`.", ["cli:root"])),
    since: Type.Optional(moment("Changes from this moment on, in Unix milliseconds.")),
    until: Type.Optional(moment("Changes before this moment, in Unix milliseconds.")),
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(Type.String({ pattern: "^\\d{1,16}$", ...CURSOR })),
  },
  strict,
);
export type ListChangesBody = Type.Static<typeof ListChangesBody>;

export const CreateNamespaceBody = Type.Object(
  { name: text("The name of the namespace.", ["email.outbound"]), shadow: Type.Optional(shadow) },
  strict,
);
export type CreateNamespaceBody = Type.Static<typeof CreateNamespaceBody>;

export const UpdateNamespaceBody = Type.Object({ namespace, shadow }, strict);
export type UpdateNamespaceBody = Type.Static<typeof UpdateNamespaceBody>;

export const NamespaceBody = Type.Object({ namespace }, strict);
export type NamespaceBody = Type.Static<typeof NamespaceBody>;

// Answers.

const overrideId = Type.Optional(Type.String({ description: "The override that replaced limit and duration." }));
const shadowed = Type.Optional(
  Type.Boolean({ description: "It would have been denied, but its namespace or override only counts and reports." }),
);
const reset = Type.Integer({
  description:
    "Unix milliseconds. Allowed: the end of the window. Denied: the earliest moment at which this cost fits if nothing else arrives.",
});
const remaining = Type.Integer({ description: "What is left of the limit." });
const reason = Type.Unsafe<Reason>({
  type: "string",
  enum: REASONS,
  description:
    "Why: `allowed`, it fits; `limit`, the window is too full; `cost`, the cost is above the limit and never fits; `batch`, it fits, " +
    "but another item of its batch does not, and nothing was counted; `full`, the server has no room for another key, and its setting " +
    "`whenFull` decided. With `shadowed`: why it would have been denied.",
});
const degraded = Type.Boolean({
  description:
    "Whether it was decided without information that should have been there: a store was unavailable, or the other regions were not read yet.",
});

export const LimitData = Type.Object({
  success: Type.Boolean({ description: "Whether the request may go on. A denial is an answer, with status 200." }),
  limit: Type.Integer(),
  remaining,
  reset,
  reason,
  degraded,
  overrideId,
  shadowed,
});
export type LimitData = Type.Static<typeof LimitData>;

export const MultiLimitData = Type.Object({
  passed: Type.Boolean({ description: "Whether all fit and were counted; else none was." }),
  limits: Type.Array(
    Type.Object({
      namespace: Type.String(),
      identifier: Type.String(),
      limit: Type.Integer(),
      remaining,
      reset,
      passed: Type.Boolean({ description: "Whether this one fits by itself." }),
      reason,
      degraded,
      overrideId,
      shadowed,
    }),
  ),
});
export type MultiLimitData = Type.Static<typeof MultiLimitData>;

const Cell = Type.Object({
  sequence: Type.Integer(),
  startMs: Type.Integer(),
  endMs: Type.Integer(),
  own: Type.Integer({ description: "Accepted by this process." }),
  others: Type.Integer({ description: "Accepted by the other processes of the region, as last heard." }),
  foreign: Type.Integer({ description: "Accepted by the other regions, as last imported." }),
  view: Type.Integer({ description: "own + others + foreign." }),
  replayed: Type.Integer({ description: "What the region's origin has confirmed of own." }),
  published: Type.Integer({ description: "What the global counters have confirmed." }),
  freshForMs: Type.Integer({
    description: "How long what is known of others still counts as fresh; 0: stale, or no origin.",
  }),
});

export const InspectData = Type.Object({
  namespaceId: Type.String(),
  identifier: Type.String(),
  rule: Type.Object({
    limit: Type.Integer(),
    duration: Type.Integer(),
    source: Type.Union([Type.Literal("request"), Type.Literal("override")]),
    shadow: Type.Boolean(),
  }),
  override: Type.Union([
    Type.Object({
      overrideId: Type.String(),
      identifier: Type.String({ description: "The identifier or pattern that matched." }),
      limit: Type.Integer(),
      duration: Type.Integer(),
      shadow: Type.Boolean(),
    }),
    Type.Null(),
  ]),
  decision: Type.Object({
    success: Type.Boolean({ description: "What the request would be answered now, from this process's memory." }),
    remaining,
    explanation: Type.String(),
  }),
  current: Cell,
  previous: Cell,
  weight: Type.Number({ description: "The share of the previous window that still counts: leftMs / duration." }),
  leftMs: Type.Integer(),
  previousShare: Type.Integer({ description: "floor(previous.view * leftMs / duration)." }),
  effective: Type.Integer({ description: "current.view + previousShare." }),
  isKnown: Type.Boolean({ description: "Whether this process holds a record of the key at all." }),
  strictForMs: Type.Integer({
    description: "How long each allow still needs a new read of the origin, after a denial.",
  }),
});
export type InspectData = Type.Static<typeof InspectData>;

export const TopIdentifiersData = Type.Object({
  namespaceId: Type.String(),
  by: Type.Unsafe<HitBy>({ type: "string", enum: HIT_BY }),
  from: Type.Integer({ description: "Unix milliseconds: what came since is counted, by the server that was asked." }),
  total: Type.Integer({ description: "All that was counted, of every identifier." }),
  errorMax: Type.Integer({
    description: "No count is off by more than this, which is a hundredth of the total or less.",
  }),
  complete: Type.Boolean({
    description:
      "Whether all of that time is counted; else more namespaces are at work than are watched, or a worker died or is silent.",
  }),
  identifiers: Type.Array(
    Type.Object({
      identifier: Type.String(),
      atLeast: Type.Integer({ description: "The true count is this or more," }),
      atMost: Type.Integer({ description: "and this or less." }),
    }),
    { description: "The heaviest first." },
  ),
  othersAtMost: Type.Integer({ description: "No identifier that is not listed has more than this." }),
});
export type TopIdentifiersData = Type.Static<typeof TopIdentifiersData>;

export const OverrideIdData = Type.Object({ overrideId: Type.String() });
export const OverrideData = Type.Object({
  overrideId: Type.String(),
  identifier: Type.String(),
  limit: Type.Integer(),
  duration: Type.Integer(),
  shadow: Type.Boolean(),
});
export type OverrideData = Type.Static<typeof OverrideData>;
export const OverridesData = Type.Array(OverrideData);
export const EmptyData = Type.Object({});

export const NamespaceData = Type.Object({
  namespaceId: Type.String(),
  name: Type.String(),
  shadow: Type.Boolean(),
  createdAt: Type.Integer(),
  deletedAt: Type.Optional(Type.Integer()),
});
export type NamespaceData = Type.Static<typeof NamespaceData>;
const Recorded = Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()]);

export const ChangeData = Type.Object({
  revision: Type.Integer({ description: "The number of the change: later ones have higher ones." }),
  at: Type.Integer({ description: "Unix milliseconds." }),
  actor: Type.String({
    description: "Who: `key:key_…` of a request, `cli:<user>` of a command, `server` of a first start.",
  }),
  action: Type.String({ description: "What, such as `override.set`, `namespace.delete`, `key.create`." }),
  subject: Type.String({ description: "The id of what was changed." }),
  before: Recorded,
  after: Recorded,
});
export type ChangeData = Type.Static<typeof ChangeData>;
export const ChangesData = Type.Array(ChangeData);

export const NamespacesData = Type.Array(NamespaceData);

const Meta = Type.Object({ requestId: Type.String() });
const Pagination = Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) });

/** The whole of a successful answer. */
export function answerOf(data: TSchema, isList: boolean): TSchema {
  return isList ? Type.Object({ meta: Meta, data, pagination: Pagination }) : Type.Object({ meta: Meta, data });
}

export const ProblemAnswer = Type.Object({
  meta: Meta,
  error: Type.Object({
    title: Type.String(),
    detail: Type.String(),
    status: Type.Integer(),
    type: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ location: Type.String(), message: Type.String(), fix: Type.Optional(Type.String()) })),
    ),
  }),
});
