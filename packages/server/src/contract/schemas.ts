/**
 * The bodies and answers of the HTTP API: one source for validation, serialisation and the OpenAPI document.
 *
 * Every field carries a `rule`: the text of the error that a wrong value gets.
 */
import type { Reason } from "sluice";
import { type TSchema, Type } from "typebox";
import { REASONS } from "../metrics/tally.ts";
import { RANKED_BY, type RankedBy } from "../top-identifiers/top-identifiers.ts";

/** 2^40, the library's largest limit and cost. */
const COUNT_MAX = 2 ** 40;
const DURATION_MIN_MS = 1000;
const DURATION_MAX_MS = 2_592_000_000;
const BATCH_MAX = 100;
const PAGE_MAX = 100;
export const PAGE_DEFAULT = 10;
/** An override's identifier and cursors are as long as identifiers are. */
const TEXT_MAX = 512;

export const strict = { additionalProperties: false } as const;

export const text = (description: string, examples: string[]) =>
  Type.String({
    minLength: 1,
    maxLength: TEXT_MAX,
    rule: `a text of 1 to ${TEXT_MAX} characters`,
    description,
    examples,
  });
export const integer = (minimum: number, maximum: number, description: string, examples: number[]) =>
  Type.Integer({ minimum, maximum, rule: `an integer from ${minimum} to ${maximum}`, description, examples });
export const moment = (description: string) => integer(0, Number.MAX_SAFE_INTEGER, description, [1_767_225_600_000]);
const flag = (description: string) => Type.Boolean({ rule: "true or false", description });

const namespace = text("The namespace: its name or its id.", ["email.outbound"]);
const identifier = text("The identifier that is limited, such as a user, an address or an API key.", ["user_123"]);
const pattern = text(
  "The identifier of the override, or a pattern: `*` matches any characters, everything else is literal.",
  ["premium_*"],
);
const limit = integer(1, COUNT_MAX, "The limit: maximum cost per window.", [100]);
const overrideLimit = integer(0, COUNT_MAX, "The limit: maximum cost per window; 0 bans the identifier.", [1000]);
const duration = integer(DURATION_MIN_MS, DURATION_MAX_MS, "The window in milliseconds: 1 s to 30 d.", [60_000]);
const cost = integer(0, COUNT_MAX, "The cost of this request; default 1. With 0 it only reads.", [1]);
const shadow = flag("Shadow mode: count and report, never deny.");
export const pageLimit = integer(1, PAGE_MAX, `The maximum number of items; default ${PAGE_DEFAULT}.`, [PAGE_DEFAULT]);

const UNLESS_OVERRIDDEN = "Required unless an override applies to the identifier; then the override's value is used.";

export const LimitBody = Type.Object({ namespace, identifier, limit, duration, cost: Type.Optional(cost) }, strict);
export type LimitBody = Type.Static<typeof LimitBody>;

export const ChargeBody = Type.Object(
  {
    namespace,
    identifier,
    limit,
    duration,
    cost: Type.Optional(
      integer(0, COUNT_MAX, "The cost of the work that was done; default 1. With 0 it only reads.", [1234]),
    ),
  },
  strict,
);
export type ChargeBody = Type.Static<typeof ChargeBody>;

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
    limit: Type.Optional(integer(0, COUNT_MAX, `The limit: maximum cost per window. ${UNLESS_OVERRIDDEN}`, [1000])),
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
      "Without an override for the identifier, `limit` and `duration` are required; a body without them gets status 400.",
  },
);
export type InspectBody = Type.Static<typeof InspectBody>;

export const TopIdentifiersBody = Type.Object(
  {
    namespace,
    by: Type.Optional(
      Type.Unsafe<RankedBy>({
        type: "string",
        enum: RANKED_BY,
        rule: RANKED_BY.map((measure) => JSON.stringify(measure)).join(" or "),
        description:
          "What to rank by. `use` (default): accepted cost. `denials`: checks that were denied, or would have been without shadow mode.",
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
  description: "The cursor of the previous answer, to get the next page.",
};
export const cursor = Type.String({
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
    deleted: Type.Optional(flag("Include deleted namespaces.")),
  },
  strict,
);
export type ListNamespacesBody = Type.Static<typeof ListNamespacesBody>;

export const ListChangesBody = Type.Object(
  {
    namespace: Type.Optional(text("Only changes of this namespace (name or id) and its overrides.", ["api"])),
    actor: Type.Optional(text("Only changes by this actor: `key:key_…`, `cli:<user>` or `server`.", ["cli:root"])),
    since: Type.Optional(moment("Only changes at or after this time, in Unix milliseconds.")),
    until: Type.Optional(moment("Only changes before this time, in Unix milliseconds.")),
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
  Type.Boolean({ description: "The request would have been denied, but its namespace or override is in shadow mode." }),
);
const reset = Type.Integer({
  description:
    "Unix milliseconds. Allowed: the end of the window. Denied: the earliest time at which this cost fits if no other request arrives.",
});
const remaining = Type.Integer({ description: "The cost that is left until the limit." });
const reason = Type.Unsafe<Reason>({
  type: "string",
  enum: REASONS,
  description:
    "The reason. `allowed`: the cost fits. `limit`: the cost does not fit in the window now. `cost`: the cost is above the limit and never fits. `batch`: it fits, " +
    "but another item of its batch does not, and nothing was counted. `full`: the server has no memory for another key, and its setting " +
    "`whenFull` decided. With `shadowed`, it is the reason for which the request would have been denied.",
});
const degraded = Type.Boolean({
  description:
    "Whether it was decided without information that should have been there: a store was unavailable, the other regions were not read yet, or the cell table was full.",
});

export const LimitData = Type.Object({
  success: Type.Boolean({ description: "Whether the request is allowed. A denial has status 200, too." }),
  limit: Type.Integer(),
  remaining,
  reset,
  reason,
  degraded,
  overrideId,
  shadowed,
});
export type LimitData = Type.Static<typeof LimitData>;

export const ChargeData = Type.Object({
  success: Type.Boolean({
    description:
      "Whether the identifier is still within its limit; true in shadow mode. The cost was counted either way.",
  }),
  limit: Type.Integer(),
  current: Type.Integer({
    description: "The count with this cost: the current window, and the share of the previous one.",
  }),
  remaining,
  over: Type.Integer({ description: "How far the identifier is above its limit; 0 if it is not." }),
  reset: Type.Integer({
    description:
      "Unix milliseconds. Within the limit: the end of the window. Above it: the earliest time at which a cost of 1 fits if no other request arrives.",
  }),
  reason: Type.Unsafe<"charged" | "full">({
    type: "string",
    enum: ["charged", "full"],
    description: "`charged`; `full`: the server has no memory for another key, and nothing was counted.",
  }),
  degraded,
  overrideId,
  shadowed: Type.Optional(
    Type.Boolean({
      description: "The identifier is above its limit, but its namespace or override is in shadow mode.",
    }),
  ),
});
export type ChargeData = Type.Static<typeof ChargeData>;

export const MultiLimitData = Type.Object({
  passed: Type.Boolean({ description: "Whether all items fit and were counted; otherwise none was counted." }),
  limits: Type.Array(
    Type.Object({
      namespace: Type.String(),
      identifier: Type.String(),
      limit: Type.Integer(),
      remaining,
      reset,
      passed: Type.Boolean({ description: "Whether this item fits on its own." }),
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
  others: Type.Integer({
    description: "Accepted by the other processes of the region, as of the last replay or refresh.",
  }),
  foreign: Type.Integer({ description: "Accepted by the other regions, as of the last import." }),
  view: Type.Integer({ description: "own + others + foreign." }),
  replayed: Type.Integer({ description: "The part of `own` that the region's origin has confirmed." }),
  published: Type.Integer({ description: "The count that the global counters have confirmed." }),
  freshForMs: Type.Integer({
    description: "How long `others` still counts as fresh, in milliseconds. 0: stale, or no origin.",
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
    success: Type.Boolean({
      description: "The decision that the request would get now, from the memory of this process.",
    }),
    remaining,
    explanation: Type.String(),
  }),
  current: Cell,
  previous: Cell,
  weight: Type.Number({ description: "The share of the previous window that still counts: leftMs / duration." }),
  leftMs: Type.Integer(),
  previousShare: Type.Integer({ description: "floor(previous.view * leftMs / duration)." }),
  effective: Type.Integer({ description: "current.view + previousShare." }),
  isKnown: Type.Boolean({ description: "Whether this process has the key in memory." }),
  strictForMs: Type.Integer({
    description: "After a denial: how long every allow still requires a new read of the origin, in milliseconds.",
  }),
});
export type InspectData = Type.Static<typeof InspectData>;

export const TopIdentifiersData = Type.Object({
  namespaceId: Type.String(),
  by: Type.Unsafe<RankedBy>({ type: "string", enum: RANKED_BY }),
  from: Type.Integer({ description: "Unix milliseconds: the ranking covers the requests to this server since then." }),
  total: Type.Integer({ description: "The total count of all identifiers." }),
  errorMax: Type.Integer({
    description: "The maximum error of each count, at most 1 % of the total.",
  }),
  complete: Type.Boolean({
    description:
      "Whether the counts cover all of that time. If not, more namespaces are active than the server ranks, or a worker died or does not respond.",
  }),
  identifiers: Type.Array(
    Type.Object({
      identifier: Type.String(),
      atLeast: Type.Integer({ description: "A lower bound of the true count." }),
      atMost: Type.Integer({ description: "An upper bound of the true count." }),
    }),
    { description: "Ordered by count, highest first." },
  ),
  othersAtMost: Type.Integer({ description: "An upper bound for every identifier that is not listed." }),
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
  revision: Type.Integer({ description: "The number of the change; later changes have higher numbers." }),
  at: Type.Integer({ description: "Unix milliseconds." }),
  actor: Type.String({
    description: "The actor: `key:key_…` for a request, `cli:<user>` for a command, `server` for a first start.",
  }),
  action: Type.String({ description: "The action, such as `override.set`, `namespace.delete`, `key.create`." }),
  subject: Type.String({ description: "The id of the changed record." }),
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
