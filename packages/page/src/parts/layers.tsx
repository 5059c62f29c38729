/** The three layers as a picture: memory of this server, the region's Redis, the SQL that all regions share; and the store of keys beside them. */
import type { Layer, ServerState } from "../answers.ts";
import { short, span } from "../format.ts";

const WORDS: Readonly<Record<Layer["status"], string>> = {
  ok: "Healthy",
  degraded: "Degraded",
  away: "Unavailable",
  absent: "Not configured",
};

interface Fact {
  readonly name: string;
  readonly value: string;
}

function Box({ title, about, layer, facts }: { title: string; about: string; layer: Layer; facts: readonly Fact[] }) {
  return (
    <li class={`layer layer-${layer.status}`}>
      <div class="layer-head">
        <h3>{title}</h3>
        <span class={`pill pill-${layer.status}`}>{WORDS[layer.status]}</span>
      </div>
      <p class="muted layer-role">{about}</p>
      <dl class="facts">
        {facts.map(({ name, value }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {layer.reason === undefined || layer.status === "ok" ? null : <p class="layer-reason">{layer.reason}</p>}
    </li>
  );
}

export function Layers({ server }: { server: ServerState }) {
  const { layers, origin, global, cells, adminAgeMs, processes, residentBytes } = server;
  return (
    <ol class="layers" aria-label="Layers" aria-live="polite">
      <Box
        title="Memory"
        about="decides most requests, without I/O"
        layer={{ status: "ok" }}
        facts={[
          { name: "Keys", value: `${short(cells.live)} of ${short(cells.max)}` },
          { name: "Processes", value: `${processes}, ${Math.round(residentBytes / 1_048_576)} MiB` },
        ]}
      />
      <Box
        title={origin === null ? "Redis" : "Region"}
        about="shared by the processes of a region"
        layer={layers.region}
        facts={
          origin === null
            ? []
            : [
                { name: "Breaker", value: origin.breaker },
                { name: "Backlog", value: `${short(origin.unreplayed)} keys, ${span(origin.oldestUnreplayedMs)}` },
              ]
        }
      />
      <Box
        title="SQL"
        about="shared by all regions"
        layer={layers.global}
        facts={
          global === null
            ? []
            : [
                { name: "Last import", value: `${span(global.importAgeMs)} ago` },
                { name: "Backlog", value: `${short(global.unpublished)} keys` },
              ]
        }
      />
      <Box
        title="Keys and overrides"
        about="namespaces, overrides, keys"
        layer={layers.admin}
        facts={[{ name: "Last read", value: `${span(adminAgeMs)} ago` }]}
      />
    </ol>
  );
}
