/** The bodies and answers of `admin.*`: the keys of a workspace. */
import { Type } from "typebox";
import { PERMISSION_PATTERN, PERMISSIONS_MAX } from "../access/permission.ts";
import { KEY_STATES, type KeyState } from "../admin/new-key.ts";
import { cursor, integer, moment, pageLimit, strict } from "./schemas.ts";

const NAME_MAX = 128;
const GRACE_MIN_MS = 1_000;
const GRACE_MAX_MS = 2_592_000_000;

const keyId = Type.String({
  pattern: "^key_\\w{1,64}$",
  rule: "the id of a key, which begins with key_",
  description: "The id of the key.",
  examples: ["key_0000000000000000000a"],
});
const permissions = Type.Array(
  Type.String({
    pattern: PERMISSION_PATTERN,
    rule: "`*`, `ratelimit.*.<action>`, `ratelimit.<namespace id>.<action>` or `admin.*.<action>`",
    examples: ["ratelimit.*.limit"],
  }),
  {
    minItems: 1,
    maxItems: PERMISSIONS_MAX,
    rule: `an array of 1 to ${PERMISSIONS_MAX} permissions`,
    description: "The permissions of the new key, each of which the calling key must have itself.",
  },
);

export const ListKeysBody = Type.Object({ limit: Type.Optional(pageLimit), cursor: Type.Optional(cursor) }, strict);
export type ListKeysBody = Type.Static<typeof ListKeysBody>;

export const CreateKeyBody = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: NAME_MAX,
        pattern: "^\\P{C}*$",
        rule: `a text of 1 to ${NAME_MAX} visible characters`,
        description: "A description of its purpose.",
        examples: ["mailer"],
      }),
    ),
    permissions,
    expiresAt: Type.Optional(
      moment("When it expires, in Unix milliseconds. Default: when the calling key does, or never."),
    ),
  },
  strict,
);
export type CreateKeyBody = Type.Static<typeof CreateKeyBody>;

export const RotateKeyBody = Type.Object(
  {
    keyId,
    grace: Type.Optional(
      integer(
        GRACE_MIN_MS,
        GRACE_MAX_MS,
        "How long the old key stays valid, in milliseconds: 1 s to 30 d. Default: it is revoked immediately.",
        [3_600_000],
      ),
    ),
  },
  strict,
);
export type RotateKeyBody = Type.Static<typeof RotateKeyBody>;

export const KeyBody = Type.Object({ keyId }, strict);
export type KeyBody = Type.Static<typeof KeyBody>;

export const KeyData = Type.Object({
  keyId: Type.String(),
  name: Type.String(),
  start: Type.String({ description: "The first characters of the key: enough to recognise it." }),
  permissions: Type.Array(Type.String()),
  state: Type.Unsafe<KeyState>({ type: "string", enum: KEY_STATES }),
  preset: Type.Boolean({ description: "Whether the configuration of a server sets it (`SLUICE_ROOT_KEY`)." }),
  createdAt: Type.Integer({ description: "Unix milliseconds." }),
  expiresAt: Type.Optional(Type.Integer({ description: "Unix milliseconds; missing: never." })),
});
export type KeyData = Type.Static<typeof KeyData>;
export const KeysData = Type.Array(KeyData);

export const NewKeyData = Type.Object({
  key: Type.String({ description: "The key itself. It is shown only here, and not stored." }),
  ...KeyData.properties,
});
export type NewKeyData = Type.Static<typeof NewKeyData>;

export const OwnKeyData = Type.Object({
  ...KeyData.properties,
  workspace: Type.Object({ id: Type.String(), name: Type.String() }),
});
export type OwnKeyData = Type.Static<typeof OwnKeyData>;

export const RevokedKeyData = Type.Object({ keyId: Type.String(), revoked: Type.Boolean() });
export type RevokedKeyData = Type.Static<typeof RevokedKeyData>;
