/** The overview: rates that move, the last hour behind them, the layers, the busiest namespaces, and who is denied most. */
import { useState } from "preact/hooks";
import type { Bucket, BusyNamespace, TopIdentifiers, Usage } from "../answers.ts";
import { call } from "../api.ts";
import { count, rate, seconds } from "../format.ts";
import * as live from "../live.ts";
import { Chart } from "../parts/chart.tsx";
import { Identifiers, rankedOf } from "../parts/identifiers.tsx";
import { Layers } from "../parts/layers.tsx";
import { Empty, Failed, Forbidden, Loading } from "../parts/states.tsx";
import { useData } from "../parts/use-data.ts";
import { hrefOf } from "../route.ts";
import { may } from "../session.ts";

const RANGES = [
  { name: "5 min", ms: 300_000 },
  { name: "15 min", ms: 900_000 },
  { name: "1 hour", ms: 3_600_000 },
] as const;

export function Overview() {
  if (!may("read_namespace")) return <Forbidden what="follow the workspace" need="ratelimit.*.read_namespace" />;
  const snapshot = live.snapshot.value;
  return (
    <>
      <Head />
      <Tiles />
      <Rates />
      {snapshot === null ? (
        live.state.value === "away" ? (
          <Failed message={live.reason.value} retry={live.start} />
        ) : (
          <Loading />
        )
      ) : (
        <>
          {snapshot.server === undefined ? null : <Layers server={snapshot.server} />}
          <div class="columns">
            <section class="card">
              <h2>Busiest namespaces</h2>
              <Namespaces namespaces={snapshot.namespaces} />
            </section>
            <section class="card">
              <h2>Most denied identifiers</h2>
              <MostDenied namespaces={snapshot.namespaces} />
            </section>
          </div>
        </>
      )}
    </>
  );
}

function Head() {
  const isPaused = live.isPaused.value;
  const words = {
    connecting: "Connecting",
    live: isPaused ? "Paused" : "Live",
    away: "Not connected",
    forbidden: "Ended",
  };
  const state = live.state.value;
  return (
    <div class="head">
      <h1>Overview</h1>
      <span class={`live live-${isPaused ? "paused" : state}`} role="status">
        {words[state]}
      </span>
      <button
        type="button"
        aria-pressed={isPaused}
        onClick={() => {
          live.isPaused.value = !isPaused;
        }}
      >
        {isPaused ? "Resume" : "Pause"}
      </button>
    </div>
  );
}

function Tiles() {
  const rates = live.rates.value;
  const latency = live.latency.value;
  const tiles = [
    { name: "Allowed", value: rates?.allowed, colour: "allowed" },
    { name: "Denied", value: rates?.denied, colour: "denied" },
    { name: "Shadowed", value: rates?.shadowed, colour: "shadowed" },
    { name: "Degraded", value: rates?.degraded, colour: "degraded" },
  ];
  return (
    <dl class="tiles">
      {tiles.map(({ name, value, colour }) => (
        <div key={name} class={`tile tile-${colour}`}>
          <dt>{name}</dt>
          <dd>
            <span class="tile-number">{value === undefined ? "–" : rate(value)}</span>
            <span class="unit"> per second</span>
          </dd>
        </div>
      ))}
      {latency === null ? null : (
        <div class="tile">
          <dt>Latency</dt>
          <dd>
            <span class="tile-number">{seconds(latency.p50)}</span>
            <span class="unit"> median, {seconds(latency.p99)} p99</span>
          </dd>
        </div>
      )}
    </dl>
  );
}

function Rates() {
  const [range, setRange] = useState<number>(RANGES[1].ms);
  const usage = useData(() => call<Usage>("ratelimit.usage", { by: "minute" }), [], 60_000);
  const now = live.points.value.at(-1)?.at ?? Date.now();
  const { at, columns } = joined(usage.data?.buckets ?? [], live.points.value, now - range);
  return (
    <section class="card">
      <div class="head">
        <h2>Checks per second</h2>
        <fieldset class="choice">
          <legend class="hidden">Range</legend>
          {RANGES.map(({ name, ms }) => (
            <label key={name}>
              <input type="radio" name="range" checked={range === ms} onChange={() => setRange(ms)} />
              <span>{name}</span>
            </label>
          ))}
        </fieldset>
      </div>
      <Chart
        label="Checks per second"
        at={at}
        from={now - range}
        to={now}
        series={[
          { name: "Allowed", colour: "--allowed", values: columns.allowed },
          { name: "Denied", colour: "--denied", values: columns.denied },
          { name: "Shadowed", colour: "--shadowed", values: columns.shadowed },
          { name: "Degraded", colour: "--degraded", values: columns.degraded },
        ]}
      />
    </section>
  );
}

const NAMES = ["allowed", "denied", "shadowed", "degraded"] as const;

/** Minutes up to where the seconds begin, then the seconds. */
function joined(buckets: readonly Bucket[], points: readonly live.Rates[], from: number) {
  const seconds = points.filter(({ at }) => at >= from);
  const begin = points[0]?.at ?? Number.POSITIVE_INFINITY;
  const minutes = filled(buckets.filter((bucket) => bucket.at >= from - 60_000 && bucket.at + 60_000 <= begin));
  const rows = [...minutes.map((bucket) => ({ ...scaled(bucket), at: bucket.at + 30_000 })), ...seconds];
  const column = (name: (typeof NAMES)[number]) => rows.map((row) => row[name]);
  return {
    at: rows.map(({ at }) => at),
    columns: {
      allowed: column("allowed"),
      denied: column("denied"),
      shadowed: column("shadowed"),
      degraded: column("degraded"),
    },
  };
}

/** A minute without a check has no bucket, and was 0. */
function filled(buckets: readonly Bucket[]): readonly Bucket[] {
  const all: Bucket[] = [];
  for (const bucket of buckets) {
    for (let at = (all.at(-1)?.at ?? bucket.at) + 60_000; at < bucket.at; at += 60_000) {
      all.push({ at, allowed: 0, denied: 0, shadowed: 0, degraded: 0, cost: 0 });
    }
    all.push(bucket);
  }
  return all;
}

function scaled({ allowed, denied, shadowed, degraded }: Bucket) {
  return { allowed: allowed / 60, denied: denied / 60, shadowed: shadowed / 60, degraded: degraded / 60 };
}

function Namespaces({ namespaces }: { namespaces: readonly BusyNamespace[] }) {
  if (namespaces.length === 0) {
    return <Empty title="No check in the last minutes.">Send one with ratelimit.limit, and it appears here.</Empty>;
  }
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Namespace</th>
          <th scope="col" class="number">
            Allowed
          </th>
          <th scope="col" class="number">
            Denied
          </th>
          <th scope="col" class="number">
            Cost
          </th>
        </tr>
      </thead>
      <tbody>
        {namespaces.slice(0, 10).map(({ namespaceId, name, allowed, denied, cost }) => (
          <tr key={namespaceId}>
            <td class="name">
              <a href={hrefOf("namespaces", namespaceId)}>{name}</a>
            </td>
            <td class="number">{count(allowed)}</td>
            <td class={denied > 0 ? "number denied" : "number"}>{count(denied)}</td>
            <td class="number">{count(cost)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Of the namespaces with the most denials. */
function MostDenied({ namespaces }: { namespaces: readonly BusyNamespace[] }) {
  const denying = namespaces
    .filter(({ denied, shadowed }) => denied + shadowed > 0)
    .sort((one, other) => other.denied + other.shadowed - one.denied - one.shadowed)
    .slice(0, 3);
  const load = async () => {
    const lists = await Promise.all(
      denying.map(async ({ namespaceId, name, rule }) => {
        const top = await call<TopIdentifiers>("ratelimit.topIdentifiers", {
          namespace: namespaceId,
          by: "denials",
          limit: 10,
        });
        return rankedOf(top, rule, name);
      }),
    );
    return lists
      .flat()
      .sort((one, other) => other.atMost - one.atMost)
      .slice(0, 10);
  };
  const { data, error, reload } = useData(load, [denying.map(({ namespaceId }) => namespaceId)], 5_000);
  if (data === null && error !== null) return <Failed message={error.message} retry={reload} />;
  return data === null ? (
    <Loading />
  ) : (
    <Identifiers ranked={data} what="Denials" none="Nobody was denied in the last minutes." />
  );
}
