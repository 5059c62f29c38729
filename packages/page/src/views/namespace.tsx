/** One namespace: its use over time, who used it and who was denied, its overrides, and its switches. */
import { useState } from "preact/hooks";
import type { Bucket, Namespace as NamespaceData, TopIdentifiers, Usage } from "../answers.ts";
import { call, key, send } from "../api.ts";
import { count, short } from "../format.ts";
import * as live from "../live.ts";
import { Chart } from "../parts/chart.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Identifiers, rankedOf } from "../parts/identifiers.tsx";
import { Overrides } from "../parts/overrides.tsx";
import { Forbidden, Show } from "../parts/states.tsx";
import { useAction } from "../parts/use-action.ts";
import { useData } from "../parts/use-data.ts";
import { go } from "../route.ts";
import { may } from "../session.ts";

const SPANS = [
  { name: "1 hour", by: "minute", ms: 3_600_000, bucketMs: 60_000 },
  { name: "1 day", by: "hour", ms: 86_400_000, bucketMs: 3_600_000 },
  { name: "30 days", by: "day", ms: 30 * 86_400_000, bucketMs: 86_400_000 },
] as const;
type Span = (typeof SPANS)[number];

/** `id`: as it stands in the address, an id or a name. */
export function Namespace({ id }: { id: string }) {
  const usage = useData(
    () => call<Usage & { namespaceId: string }>("ratelimit.usage", { namespace: id, by: "minute" }),
    [id],
  );
  const listed = useData(() => describe(id), [id]);
  const namespaceId = usage.data?.namespaceId ?? listed.data?.namespaceId ?? id;
  if (listed.data?.deletedAt !== undefined) return <Deleted namespace={listed.data} onRestored={listed.reload} />;
  return (
    <>
      <div class="head">
        <h1 class="name">{listed.data?.name ?? id}</h1>
        {listed.data?.shadow === true ? <span class="pill pill-shadow">shadow</span> : null}
        {listed.data === null ? null : <Switches namespace={listed.data} onChanged={listed.reload} />}
      </div>
      <Show loaded={usage} what="read this namespace" need="ratelimit.*.read_namespace">
        {() => (
          <>
            <History namespaceId={namespaceId} />
            <Ranked namespaceId={namespaceId} />
            {may("read_override", namespaceId) ? (
              <Overrides namespaceId={namespaceId} />
            ) : (
              <section class="card">
                <h2>Overrides</h2>
                <Forbidden what="read overrides" need="ratelimit.*.read_override" />
              </section>
            )}
          </>
        )}
      </Show>
    </>
  );
}

/** Namespaces are only listed: the page looks for the one with this id among the first thousand, and shows the id otherwise. */
async function describe(id: string): Promise<NamespaceData | null> {
  let cursor: string | undefined;
  for (let page = 0; page < 10; page++) {
    const body = { limit: 100, deleted: true, ...(cursor === undefined ? {} : { cursor }) };
    const response = await send("ratelimit.listNamespaces", body, key.value);
    const { data, pagination } = (await response.json()) as { data: NamespaceData[]; pagination: { cursor?: string } };
    const found = data.find(
      ({ namespaceId, name, deletedAt }) => namespaceId === id || (name === id && deletedAt === undefined),
    );
    if (found !== undefined) return found;
    cursor = pagination.cursor;
    if (cursor === undefined) return null;
  }
  return null;
}

function Switches({ namespace, onChanged }: { namespace: NamespaceData; onChanged: () => void }) {
  const { namespaceId, name, shadow } = namespace;
  const [isAsking, setAsking] = useState(false);
  const { isBusy, problem, run } = useAction();
  return (
    <div class="actions">
      {may("update_namespace", namespaceId) ? (
        <button
          type="button"
          disabled={isBusy}
          onClick={() =>
            run(async () => {
              await call("ratelimit.updateNamespace", { namespace: namespaceId, shadow: !shadow });
              onChanged();
            })
          }
        >
          {shadow ? "Enforce its limits" : "Turn into a shadow"}
        </button>
      ) : null}
      {may("delete_namespace", namespaceId) ? (
        <button type="button" class="danger" onClick={() => setAsking(true)}>
          Delete
        </button>
      ) : null}
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {isAsking ? (
        <Confirm
          title={`Delete ${name}?`}
          text="Requests that name it get status 410 from then on. It can be restored with its overrides."
          action="Delete the namespace"
          onClose={() => setAsking(false)}
          onConfirm={() =>
            run(async () => {
              await call("ratelimit.deleteNamespace", { namespace: namespaceId });
              setAsking(false);
              onChanged();
            })
          }
        />
      ) : null}
    </div>
  );
}

function Deleted({ namespace, onRestored }: { namespace: NamespaceData; onRestored: () => void }) {
  const { isBusy, problem, run } = useAction();
  return (
    <div class="state">
      <p class="state-title">{namespace.name} was deleted.</p>
      <div class="actions">
        <button type="button" onClick={() => go("namespaces")}>
          All namespaces
        </button>
        {may("delete_namespace", namespace.namespaceId) ? (
          <button
            type="button"
            class="primary"
            disabled={isBusy}
            onClick={() =>
              run(async () => {
                await call("ratelimit.restoreNamespace", { namespace: namespace.namespaceId });
                onRestored();
              })
            }
          >
            Restore
          </button>
        ) : null}
      </div>
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

function History({ namespaceId }: { namespaceId: string }) {
  const [span, setSpan] = useState<Span>(SPANS[0]);
  const { by, ms, bucketMs } = span;
  const usage = useData(
    () => call<Usage>("ratelimit.usage", { namespace: namespaceId, by, from: Date.now() - ms }),
    [namespaceId, by],
    30_000,
  );
  return (
    <section class="card">
      <div class="head">
        <h2>Checks per {by}</h2>
        <fieldset class="choice">
          <legend class="hidden">Range</legend>
          {SPANS.map((one) => (
            <label key={one.name}>
              <input type="radio" name="span" checked={one.by === by} onChange={() => setSpan(one)} />
              <span>{one.name}</span>
            </label>
          ))}
        </fieldset>
        <button type="button" onClick={() => void download(namespaceId, by, ms)}>
          CSV
        </button>
      </div>
      <Show loaded={usage} what="read its use" need="ratelimit.*.read_namespace" lines={6}>
        {({ from, to, buckets }) => {
          const rows = filled(buckets, from, to, bucketMs);
          return (
            <Chart
              label={`Checks per ${by}`}
              at={rows.map(({ at }) => at)}
              from={from}
              to={to - bucketMs}
              valueText={short}
              series={[
                { name: "Allowed", colour: "--allowed", values: rows.map(({ allowed }) => allowed) },
                { name: "Denied", colour: "--denied", values: rows.map(({ denied }) => denied) },
                { name: "Shadowed", colour: "--shadowed", values: rows.map(({ shadowed }) => shadowed) },
              ]}
            />
          );
        }}
      </Show>
    </section>
  );
}

function filled(buckets: readonly Bucket[], from: number, to: number, bucketMs: number): readonly Bucket[] {
  const known = new Map(buckets.map((bucket) => [bucket.at, bucket]));
  const all: Bucket[] = [];
  for (let at = from; at < to; at += bucketMs) {
    all.push(known.get(at) ?? { at, allowed: 0, denied: 0, shadowed: 0, degraded: 0, cost: 0 });
  }
  return all;
}

async function download(namespaceId: string, by: string, ms: number): Promise<void> {
  const response = await send(
    "ratelimit.usage",
    { namespace: namespaceId, by, from: Date.now() - ms, format: "csv" },
    key.value,
  );
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = `${namespaceId}-${by}.csv`;
  link.click();
  URL.revokeObjectURL(url);
}

function Ranked({ namespaceId }: { namespaceId: string }) {
  const rule = live.snapshot.value?.namespaces.find((one) => one.namespaceId === namespaceId)?.rule;
  const top = (by: "use" | "denials") =>
    call<TopIdentifiers>("ratelimit.topIdentifiers", { namespace: namespaceId, by, limit: 10 });
  const use = useData(() => top("use"), [namespaceId], 10_000);
  const denials = useData(() => top("denials"), [namespaceId], 10_000);
  const parts = [
    { title: "Top by use", what: "Cost", loaded: use, none: "No use in the last minutes." },
    { title: "Top by denials", what: "Denials", loaded: denials, none: "Nobody was denied in the last minutes." },
  ];
  return (
    <div class="columns">
      {parts.map(({ title, what, loaded, none }) => (
        <section key={title} class="card">
          <h2>{title}</h2>
          <Show loaded={loaded} what="rank identifiers" need="ratelimit.*.read_namespace">
            {(ranking) => (
              <>
                <Identifiers ranked={rankedOf(ranking, rule)} what={what} none={none} />
                <p class="muted small">
                  Of the last five minutes on this server, by a sketch:{" "}
                  {ranking.errorMax === 0 ? "exact so far" : `each within ${count(ranking.errorMax)}`}
                  {ranking.complete ? "" : ", and not complete"}. Not for billing.
                </p>
              </>
            )}
          </Show>
        </section>
      ))}
    </div>
  );
}
