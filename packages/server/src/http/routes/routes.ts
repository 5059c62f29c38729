/**
 * The table of routes: everything that the API can be asked, each with its body, its answer and the problems it may meet.
 *
 * Validation, the OpenAPI document, the page that shows it, and the suites that walk all routes are made from it.
 */

import * as keySchemas from "../../contract/key-schemas.ts";
import * as liveSchemas from "../../contract/live-schemas.ts";
import * as schemas from "../../contract/schemas.ts";
import * as usageSchemas from "../../contract/usage-schemas.ts";
import { listChanges } from "./changes.ts";
import { inspect } from "./inspect.ts";
import { createKey, getKey, listKeys, revokeKey, rotateKey } from "./keys.ts";
import { charge, limit, limitText, multiLimit } from "./limit.ts";
import { live, serverSettings, serverStatus } from "./live.ts";
import { createNamespace, deleteNamespace, listNamespaces, restoreNamespace, updateNamespace } from "./namespaces.ts";
import { deleteOverride, getOverride, listOverrides, setOverride } from "./overrides.ts";
import { type Route, route } from "./route.ts";
import { topIdentifiers } from "./top-identifiers.ts";
import { usage } from "./usage.ts";

export const ROUTES: readonly Route[] = [
  route({
    operation: "ratelimit.limit",
    summary: "Check whether a request is allowed, and count it if so. A denial has status 200, too.",
    action: "limit",
    body: schemas.LimitBody,
    data: schemas.LimitData,
    problems: ["namespace_limit_reached", "namespace_gone"],
    write: limitText,
    handle: limit,
  }),
  route({
    operation: "ratelimit.charge",
    summary:
      "Count a cost that is known after the work, whether it fits or not, and say whether the identifier is still within its limit.",
    action: "charge",
    body: schemas.ChargeBody,
    data: schemas.ChargeData,
    problems: ["namespace_limit_reached", "namespace_gone"],
    handle: charge,
  }),
  route({
    operation: "ratelimit.multiLimit",
    summary: "Check several limits at once: all of them are counted, or none.",
    action: "limit",
    body: schemas.MultiLimitBody,
    data: schemas.MultiLimitData,
    problems: ["cost_above_quota", "namespace_limit_reached", "namespace_gone"],
    handle: multiLimit,
  }),
  route({
    operation: "ratelimit.inspect",
    summary: "Explain how a request would be decided, and from which counts. Counts nothing.",
    action: "read_namespace",
    body: schemas.InspectBody,
    data: schemas.InspectData,
    problems: ["namespace_not_found"],
    handle: inspect,
  }),
  route({
    operation: "ratelimit.topIdentifiers",
    summary:
      "List the identifiers with the most accepted cost, or the most denials, in a namespace over the last five minutes, with bounds of each count.",
    action: "read_namespace",
    body: schemas.TopIdentifiersBody,
    data: schemas.TopIdentifiersData,
    problems: ["namespace_not_found", "hitters_off"],
    handle: topIdentifiers,
  }),
  route({
    operation: "ratelimit.usage",
    summary:
      "Read how many checks of a namespace or the workspace were allowed and denied over time, on all servers and regions.",
    action: "read_namespace",
    body: usageSchemas.UsageBody,
    data: usageSchemas.UsageData,
    problems: ["namespace_not_found"],
    handle: usage,
  }),
  route({
    operation: "ratelimit.live",
    summary: "Follow the workspace live: server-sent events, one per second, until the client ends them.",
    action: "read_namespace",
    body: liveSchemas.NoBody,
    data: liveSchemas.LiveData,
    isStream: true,
    problems: ["stream_limit_reached"],
    handle: live,
  }),
  route({
    operation: "ratelimit.setOverride",
    summary: "Set a limit and a duration for one identifier, or for all that match a pattern.",
    action: "set_override",
    body: schemas.SetOverrideBody,
    data: schemas.OverrideIdData,
    problems: ["namespace_not_found", "override_limit_reached"],
    handle: setOverride,
  }),
  route({
    operation: "ratelimit.getOverride",
    summary: "Read the override of an identifier or pattern.",
    action: "read_override",
    body: schemas.OverrideBody,
    data: schemas.OverrideData,
    problems: ["namespace_not_found", "override_not_found"],
    handle: getOverride,
  }),
  route({
    operation: "ratelimit.listOverrides",
    summary: "List the overrides of a namespace, ordered by identifier.",
    action: "read_override",
    body: schemas.ListOverridesBody,
    data: schemas.OverridesData,
    isList: true,
    problems: ["namespace_not_found"],
    handle: listOverrides,
  }),
  route({
    operation: "ratelimit.deleteOverride",
    summary: "Delete the override of an identifier or pattern.",
    action: "delete_override",
    body: schemas.OverrideBody,
    data: schemas.EmptyData,
    problems: ["namespace_not_found", "override_not_found"],
    handle: deleteOverride,
  }),
  route({
    operation: "ratelimit.listNamespaces",
    summary: "List the namespaces that the key may read, ordered by name.",
    action: "read_namespace",
    body: schemas.ListNamespacesBody,
    data: schemas.NamespacesData,
    isList: true,
    problems: [],
    handle: listNamespaces,
  }),
  route({
    operation: "ratelimit.createNamespace",
    summary: "Create a namespace. The name of a deleted one can be used again; its counts start from zero.",
    action: "create_namespace",
    body: schemas.CreateNamespaceBody,
    data: schemas.NamespaceData,
    problems: ["namespace_name_taken", "namespace_limit_reached"],
    handle: createNamespace,
  }),
  route({
    operation: "ratelimit.updateNamespace",
    summary: "Turn shadow mode (count and report, never deny) of a namespace on or off.",
    action: "update_namespace",
    body: schemas.UpdateNamespaceBody,
    data: schemas.NamespaceData,
    problems: ["namespace_not_found"],
    handle: updateNamespace,
  }),
  route({
    operation: "ratelimit.deleteNamespace",
    summary: "Delete a namespace: limit and multiLimit get status 410 from then on. It can be restored.",
    action: "delete_namespace",
    body: schemas.NamespaceBody,
    data: schemas.NamespaceData,
    problems: ["namespace_not_found"],
    handle: deleteNamespace,
  }),
  route({
    operation: "ratelimit.restoreNamespace",
    summary: "Restore a deleted namespace with its overrides.",
    action: "delete_namespace",
    body: schemas.NamespaceBody,
    data: schemas.NamespaceData,
    problems: ["namespace_not_found", "namespace_name_taken"],
    handle: restoreNamespace,
  }),
  route({
    operation: "ratelimit.listChanges",
    summary: "List the changes in the workspace, newest first: actor, action, and the values before and after.",
    action: "read_audit",
    body: schemas.ListChangesBody,
    data: schemas.ChangesData,
    isList: true,
    problems: ["namespace_not_found"],
    handle: listChanges,
  }),
  route({
    operation: "admin.getKey",
    summary: "Describe the calling key: its workspace and its permissions.",
    action: "any",
    body: liveSchemas.NoBody,
    data: keySchemas.OwnKeyData,
    problems: [],
    handle: getKey,
  }),
  route({
    operation: "admin.listKeys",
    summary: "List the keys of the workspace, ordered by name, with the first characters of each.",
    action: "read_key",
    body: keySchemas.ListKeysBody,
    data: keySchemas.KeysData,
    isList: true,
    problems: [],
    handle: listKeys,
  }),
  route({
    operation: "admin.createKey",
    summary:
      "Create a key of the workspace, with permissions that the calling key has itself. The answer shows it once.",
    action: "create_key",
    body: keySchemas.CreateKeyBody,
    data: keySchemas.NewKeyData,
    problems: ["key_limit_reached"],
    handle: createKey,
  }),
  route({
    operation: "admin.rotateKey",
    summary: "Replace a key with a new one that has the same permissions. The answer shows it once.",
    action: "rotate_key",
    body: keySchemas.RotateKeyBody,
    data: keySchemas.NewKeyData,
    problems: ["managed_key_not_found", "key_not_rotatable"],
    handle: rotateKey,
  }),
  route({
    operation: "admin.revokeKey",
    summary: "Revoke a key for good. Servers refuse it within a second.",
    action: "revoke_key",
    body: keySchemas.KeyBody,
    data: keySchemas.RevokedKeyData,
    problems: ["managed_key_not_found"],
    handle: revokeKey,
  }),
  route({
    operation: "server.status",
    summary: "Describe the server: its version, whether it is ready, and the state of each layer.",
    action: "*",
    body: liveSchemas.NoBody,
    data: liveSchemas.ServerStatusData,
    problems: [],
    handle: serverStatus,
  }),
  route({
    operation: "server.settings",
    summary: "List the settings of the server, with the source of each. Secrets are not shown.",
    action: "*",
    body: liveSchemas.NoBody,
    data: liveSchemas.ServerSettingsData,
    problems: [],
    handle: serverSettings,
  }),
];
