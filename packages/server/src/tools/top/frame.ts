/** One frame of `sluice top`: lines of text, each with a tone for terminals that have colours. It knows no terminal. */

import type { TopIdentifiersData } from "../../contract/schemas.ts";
import type { LayerState } from "../../serve/readiness.ts";
import { whole } from "../../text/figures.ts";
import type { Flow, Picture } from "./picture.ts";

export type Tone = "plain" | "head" | "good" | "doubtful" | "bad" | "dim";

export interface Line {
  readonly text: string;
  readonly tone: Tone;
}

export interface Ranked {
  readonly namespace: string;
  readonly use: TopIdentifiersData;
  readonly denials: TopIdentifiersData;
}

export interface Shown {
  /** Of the listener for operators. */
  readonly url: string;
  readonly wallMs: number;
  /** Null: it has not answered yet. */
  readonly picture: Picture | null;
  /** Why the last look failed, and since when nothing was heard. */
  readonly trouble: { readonly why: string; readonly sinceMs: number } | null;
  /** Or why there is none. */
  readonly ranked: Ranked | string;
  /** On a terminal: how it is left. */
  readonly isLive: boolean;
}

/** How much of a frame is shown. */
interface Extent {
  readonly namespaces: number;
  readonly identifiers: number;
  readonly isSpaced: boolean;
}

const WHOLE: Extent = { namespaces: 5, identifiers: 8, isSpaced: true };
/** What is given up where rows are few, the least missed first: 24 rows hold two namespaces and four identifiers. */
const EXTENTS: readonly Extent[] = [
  WHOLE,
  ...[
    [5, 8],
    [3, 6],
    [2, 4],
    [1, 3],
    [1, 1],
  ].map(([namespaces, identifiers]) => ({ namespaces: namespaces!, identifiers: identifiers!, isSpaced: false })),
];
/** Half of a terminal of 80 columns. */
const HALF = 38;

const plain = (text: string): Line => ({ text, tone: "plain" });
const head = (text: string): Line => ({ text, tone: "head" });
const EMPTY = plain("");

/** The most that fits into so many rows; longer only where the least does not fit. */
export function frameOf(shown: Shown, rows: number = Number.POSITIVE_INFINITY): Line[] {
  let lines: Line[] = [];
  for (const extent of EXTENTS) {
    lines = linesOf(shown, extent);
    if (lines.length <= rows) break;
  }
  return lines;
}

function linesOf(shown: Shown, extent: Extent): Line[] {
  const { picture, trouble } = shown;
  const lines = [titleOf(shown)];
  if (trouble !== null) {
    const silentS = Math.round((shown.wallMs - trouble.sinceMs) / 1000);
    lines.push({ text: `${trouble.why}; no response for ${silentS} s, retrying`, tone: "bad" });
  }
  if (picture === null) return lines;
  const gap = extent.isSpaced ? [EMPTY] : [];
  return [
    ...lines,
    readyOf(picture),
    ...gap,
    ...checksOf(picture),
    ...gap,
    ...requestsOf(picture),
    ...gap,
    ...layersOf(picture),
    ...gap,
    ...namespacesOf(picture, extent),
    ...gap,
    ...rankedOf(shown.ranked, extent),
  ];
}

function titleOf({ url, wallMs, picture, isLive }: Shown): Line {
  const time = new Date(wallMs).toISOString().slice(11, 19);
  const about = picture === null ? "" : `  ${clean(picture.region)}`;
  return head(`sluice top  ${url}${about}  ${time} UTC${isLive ? "  q quits" : ""}`);
}

function readyOf({ readiness, processes, upS, version }: Picture): Line {
  const why = readiness.reason === undefined ? "" : ` (${readiness.reason})`;
  const text = `${readiness.ready ? "ready" : "NOT READY"}${why}, version ${version}, ${count(processes, "process", "processes")}, up ${upOf(upS)}`;
  return { text, tone: readiness.ready ? "good" : "bad" };
}

function checksOf({ checks }: Picture): Line[] {
  const decided = checks.filter(({ name }) => name !== "degraded");
  const sum = decided.reduce((total, { perSecond }) => total + (perSecond ?? 0), 0);
  const share = ({ perSecond }: Flow) =>
    perSecond === null || sum === 0 ? "–" : `${((100 * perSecond) / sum).toFixed(1)} %`;
  return [
    head(columns("checks", "per second", "share", "total")),
    ...checks.map((flow): Line => {
      const text = columns(flow.name, rate(flow.perSecond), share(flow), whole(flow.total));
      return { text, tone: flow.name === "degraded" && (flow.perSecond ?? 0) > 0 ? "doubtful" : "plain" };
    }),
  ];
}

function requestsOf({ requests, latency, now }: Picture): Line[] {
  const loop = now("sluice_event_loop_delay_seconds", { quantile: "0.99" });
  return [
    head(columns("requests", "per second", "", "total")),
    ...requests.map((flow): Line => {
      const text = columns(`status ${flow.name}`, rate(flow.perSecond), "", whole(flow.total));
      return { text, tone: flow.name.startsWith("5") && (flow.perSecond ?? 0) > 0 ? "bad" : "plain" };
    }),
    plain(`latency     p50 ${ms(latency.p50)}, p90 ${ms(latency.p90)}, p99 ${ms(latency.p99)}`),
    plain(`event loop  p99 ${ms(loop ?? null)} late; ${whole(now("sluice_http_connections") ?? 0)} connections`),
  ];
}

function layersOf(picture: Picture): Line[] {
  const { readiness, now } = picture;
  const seconds = (name: string) => `${(now(name) ?? 0).toFixed(1)} s`;
  const number = (name: string) => whole(now(name) ?? 0);
  const layer = (name: string, state: LayerState, facts: string): Line => {
    const tones = { ok: "good", degraded: "doubtful", away: "bad", absent: "dim" } as const;
    const why = state.reason === undefined ? "" : `${state.reason}; `;
    const told = state.status === "absent" ? (state.reason ?? "") : `${why}${facts}`;
    return { text: `${name.padEnd(8)}${state.status.padEnd(10)}${told}`, tone: tones[state.status] };
  };
  const breaker = ["open", "probing", "closed"].find((state) => (now("sluice_origin_breaker", { state }) ?? 0) > 0);
  const { admin, region, global } = readiness.layers;
  const [cells, cellsMax] = [now("sluice_cells") ?? 0, now("sluice_cells_max") ?? 1];
  return [
    head("layers"),
    layer("admin", admin, `read ${seconds("sluice_admin_age_seconds")} ago`),
    layer(
      "region",
      region,
      `breaker ${breaker ?? "–"}, dirty ${number("sluice_origin_dirty_cells")}, oldest ${seconds("sluice_origin_oldest_dirty_seconds")}`,
    ),
    layer(
      "global",
      global,
      `imported ${seconds("sluice_global_import_age_seconds")} ago, published ${seconds("sluice_global_publish_age_seconds")} ago, ` +
        `unpublished ${number("sluice_global_unpublished_cells")}`,
    ),
    plain(
      `${"cells".padEnd(18)}${whole(cells)} of ${whole(cellsMax)} (${((100 * cells) / cellsMax).toFixed(1)} %), ` +
        `evicted ${rate(picture.perSecond("sluice_cells_evicted_total"))} per second`,
    ),
  ];
}

function namespacesOf({ namespaces }: Picture, extent: Extent): Line[] {
  const shown = namespaces.slice(0, extent.namespaces);
  const more = namespaces.length - shown.length;
  return [
    head(columns("namespaces, per second", "allowed", "denied", "shadowed")),
    ...shown.map(({ workspace, namespace, allowed, denied, shadowed }) => {
      const name = namespace === "" ? "(others)" : workspace === "default" ? namespace : `${workspace}/${namespace}`;
      return plain(columns(clean(name), rate(allowed), rate(denied), rate(shadowed)));
    }),
    ...(more > 0 ? [{ text: `and ${more} more`, tone: "dim" as const }] : []),
  ];
}

function rankedOf(ranked: Ranked | string, extent: Extent): Line[] {
  if (typeof ranked === "string") return [head("top identifiers"), { text: ranked, tone: "dim" }];
  const { namespace, use, denials } = ranked;
  const since = new Date(use.from).toISOString().slice(11, 19);
  const [left, right] = [listOf("use", use, extent), listOf("denials", denials, extent)];
  const rows = Array.from({ length: Math.max(left.length, right.length) }, (_, i) =>
    plain(`${(left[i] ?? "").padEnd(HALF)}  ${right[i] ?? ""}`.trimEnd()),
  );
  const whether = use.complete ? "" : ", incomplete";
  return [head(`top identifiers of ${clean(namespace)} since ${since} UTC${whether}`), ...rows];
}

/** The upper bounds, which order the list; the error is a hundredth of the total at most. */
function listOf(what: string, { identifiers, total, errorMax }: TopIdentifiersData, extent: Extent): string[] {
  const within = errorMax === 0 ? "" : `, counts within ${whole(errorMax)}`;
  return [
    `${what}: ${whole(total)}${within}`,
    ...identifiers.slice(0, extent.identifiers).map(({ identifier, atMost }) => {
      const share = `${((100 * atMost) / total).toFixed(1)} %`;
      return `${cut(clean(identifier), HALF - 18).padEnd(HALF - 18)}${whole(atMost).padStart(10)}${share.padStart(8)}`;
    }),
  ];
}

function columns(name: string, ...cells: readonly string[]): string {
  return `${cut(name, 26).padEnd(26)}${cells.map((cell) => cell.padStart(14)).join("")}`.trimEnd();
}

function cut(text: string, length: number): string {
  const letters = [...text];
  return letters.length <= length ? text : `${letters.slice(0, length - 1).join("")}…`;
}

/** Names come from others: control characters would speak to the terminal. */
function clean(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "�");
}

function rate(perSecond: number | null): string {
  if (perSecond === null) return "–";
  return perSecond >= 100 ? whole(perSecond) : perSecond.toFixed(1);
}

function ms(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds === Number.POSITIVE_INFINITY) return "above 2.5 s";
  return `${(seconds * 1000).toFixed(2)} ms`;
}

function count(number: number, one: string, many: string): string {
  return `${whole(number)} ${number === 1 ? one : many}`;
}

function upOf(seconds: number): string {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${Math.floor(seconds % 60)}s` : `${Math.floor(seconds)}s`;
}
