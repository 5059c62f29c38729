/** One identifier: what counts against its limit now, what a cost would get, why, and its override. */
import { useState } from "preact/hooks";
import type { Inspection, Rule } from "../answers.ts";
import { call } from "../api.ts";
import { count, span } from "../format.ts";
import { OverrideForm } from "../parts/override-form.tsx";
import { Failed, Forbidden, Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useAction } from "../parts/use-action.ts";
import { useData } from "../parts/use-data.ts";
import { go, hrefOf } from "../route.ts";
import { may, mayReadSome } from "../session.ts";

const USUAL: Rule = { limit: 100, duration: 60_000 };

export function FindKey() {
  const [namespace, setNamespace] = useState("");
  const [identifier, setIdentifier] = useState("");
  const [limit, setLimit] = useState(String(USUAL.limit));
  const [seconds, setSeconds] = useState(String(USUAL.duration / 1_000));
  if (!mayReadSome()) return <Forbidden what="inspect identifiers" need="ratelimit.*.read_namespace" />;
  return (
    <>
      <div class="head">
        <h1>Identifier</h1>
      </div>
      <form
        class="card form"
        onSubmit={(event) => {
          event.preventDefault();
          go("key", namespace, identifier, limit, String(Number(seconds) * 1_000));
        }}
      >
        <label>
          Namespace
          <input
            required
            maxLength={512}
            value={namespace}
            onInput={(event) => setNamespace(event.currentTarget.value)}
            placeholder="email.outbound"
          />
        </label>
        <label>
          Identifier
          <input
            required
            maxLength={512}
            value={identifier}
            onInput={(event) => setIdentifier(event.currentTarget.value)}
            placeholder="user_123"
          />
        </label>
        <label>
          Limit of its requests
          <input
            required
            type="number"
            min={1}
            value={limit}
            onInput={(event) => setLimit(event.currentTarget.value)}
          />
        </label>
        <label>
          Window, seconds
          <input
            required
            type="number"
            min={1}
            value={seconds}
            onInput={(event) => setSeconds(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Inspect
        </button>
        <p class="muted small wide">
          Limit and window come with each request. If an override applies to the identifier, it replaces them.
        </p>
      </form>
    </>
  );
}

interface KeyProps {
  readonly namespace: string;
  readonly identifier: string;
  /** As requests have it; an override replaces it. */
  readonly rule: Rule | null;
}

export function Key({ namespace, identifier, rule }: KeyProps) {
  const asked = rule ?? USUAL;
  const { data, error, reload } = useData(
    () =>
      call<Inspection>("ratelimit.inspect", { namespace, identifier, limit: asked.limit, duration: asked.duration }),
    [namespace, identifier, asked.limit, asked.duration],
    1_000,
  );
  if (data === null) {
    if (error === null) return <Loading lines={8} />;
    if (error.status === 403) return <Forbidden what="inspect this identifier" need="ratelimit.*.read_namespace" />;
    return <Failed message={error.message} retry={reload} />;
  }
  return (
    <>
      <div class="head">
        <h1 class="name">{identifier}</h1>
        <a href={hrefOf("namespaces", data.namespaceId)}>Its namespace</a>
      </div>
      <Picture data={data} isGuess={rule === null && data.override === null} />
      <OverrideCard data={data} onChanged={reload} />
    </>
  );
}

function Picture({ data, isGuess }: { data: Inspection; isGuess: boolean }) {
  const { rule, effective, current, previous, previousShare, weight, leftMs } = data;
  const [cost, setCost] = useState(1);
  const fits = effective + cost <= rule.limit;
  const costMax = Math.max(1, Math.min(rule.limit, 1_000_000));
  return (
    <section class="card">
      <p class={`verdict ${fits ? "verdict-allowed" : "verdict-denied"}`} role="status">
        <strong>{fits ? "Allowed" : rule.shadow ? "Shadowed" : "Denied"}</strong>
        <span>
          {count(current.view)} in this window + {count(previousShare)} of the previous one + cost {count(cost)} ={" "}
          {count(effective + cost)}, {fits ? "within" : "above"} the limit of {count(rule.limit)} per{" "}
          {span(rule.duration)}
        </span>
      </p>
      {isGuess ? (
        <p class="note">
          No override applies, and the limit of its requests is not known here.{" "}
          <a href={hrefOf("key")}>Choose another limit</a>.
        </p>
      ) : null}
      <Windows data={data} cost={cost} />
      <label class="slider">
        <span>
          A request of cost <output>{count(cost)}</output>
        </span>
        <input
          type="range"
          min={0}
          max={costMax}
          value={cost}
          onInput={(event) => setCost(Number(event.currentTarget.value))}
        />
      </label>
      <dl class="facts wide-facts">
        <div>
          <dt>Left now</dt>
          <dd>{count(Math.max(0, rule.limit - effective))}</dd>
        </div>
        <div>
          <dt>Window ends</dt>
          <dd>
            <Time at={current.endMs} isShort />, in {span(leftMs)}
          </dd>
        </div>
        <div>
          <dt>Previous window</dt>
          <dd>
            {count(previous.view)}, counts {Math.round(weight * 100)} %
          </dd>
        </div>
        <div>
          <dt>Limit comes from</dt>
          <dd>{data.override === null ? "the request" : "an override"}</dd>
        </div>
        <div>
          <dt>In memory here</dt>
          <dd>{data.isKnown ? "yes" : "no"}</dd>
        </div>
      </dl>
    </section>
  );
}

const PARTS = [
  { name: "this process", field: "own", colour: "own" },
  { name: "other processes", field: "others", colour: "others" },
  { name: "other regions", field: "foreign", colour: "foreign" },
] as const;

/** Both windows as bars on one scale, the previous one with the part that still counts, and the limit as a line. */
function Windows({ data, cost }: { data: Inspection; cost: number }) {
  const { rule, current, previous, previousShare, weight, effective } = data;
  const most = Math.max(rule.limit, previous.view, effective + cost, 1) * 1.05;
  const width = (value: number) => `${(100 * value) / most}%`;
  const rows = [
    { name: "Previous window", cell: previous, share: weight },
    { name: "This window", cell: current, share: 1 },
  ];
  return (
    <div class="windows">
      {rows.map(({ name, cell, share }) => (
        <div key={name} class="window">
          <span class="window-name">{name}</span>
          <div
            class="window-bar"
            role="img"
            aria-label={`${name}: ${PARTS.map((part) => `${count(cell[part.field])} by ${part.name}`).join(", ")}`}
          >
            {PARTS.map(({ field, colour }) => (
              <span
                key={field}
                class={`window-part part-${colour}${share < 1 ? " part-faded" : ""}`}
                style={{ width: width(cell[field]) }}
              />
            ))}
          </div>
          <span class="window-number">{count(cell.view)}</span>
        </div>
      ))}
      <div class="window">
        <span class="window-name">Counts now</span>
        <div
          class="window-bar window-sum"
          role="img"
          aria-label={`${count(effective)} of ${count(rule.limit)}, and ${count(cost)} more for the request`}
        >
          <span class="window-part part-previous" style={{ width: width(previousShare) }} />
          <span class="window-part part-own" style={{ width: width(current.view) }} />
          <span class="window-part part-cost" style={{ width: width(cost) }} />
          <span class="window-limit" style={{ left: width(rule.limit) }} title={`limit ${count(rule.limit)}`} />
        </div>
        <span class="window-number">{count(effective)}</span>
      </div>
      <p class="legend small" aria-hidden="true">
        <span class="legend-item swatch-own">this process</span>
        <span class="legend-item swatch-others">other processes</span>
        <span class="legend-item swatch-foreign">other regions</span>
        <span class="legend-item swatch-previous">share of the previous window</span>
        <span class="legend-item swatch-cost">the request</span>
        <span class="legend-item swatch-limit">limit</span>
      </p>
    </div>
  );
}

function OverrideCard({ data, onChanged }: { data: Inspection; onChanged: () => void }) {
  const { namespaceId, identifier, override, rule } = data;
  const { isBusy, problem, run } = useAction();
  const [isSaved, setSaved] = useState(false);
  const isOwn = override?.identifier === identifier;
  return (
    <section class="card">
      <h2>Override</h2>
      <p class="muted">
        {override === null ? (
          "No override applies: the identifier gets the limit that its requests ask for."
        ) : isOwn ? (
          "This identifier has an override of its own, which wins over every pattern."
        ) : (
          <>
            The pattern <code>{override.identifier}</code> applies: of those that match, it has the most literal
            characters.
          </>
        )}
      </p>
      {may("set_override", namespaceId) ? (
        <OverrideForm
          key={override?.overrideId ?? "none"}
          namespaceId={namespaceId}
          identifier={identifier}
          rule={rule}
          isShadow={override?.shadow ?? false}
          action={isOwn ? "Change the limit" : "Set a limit of its own"}
          onSaved={() => {
            setSaved(true);
            onChanged();
          }}
        />
      ) : (
        <p class="note">
          This key may not change it: it lacks <code>ratelimit.*.set_override</code>.
        </p>
      )}
      {isSaved ? (
        <p role="status" class="saved">
          Saved. The next request gets it.
        </p>
      ) : null}
      {isOwn && may("delete_override", namespaceId) ? (
        <button
          type="button"
          class="danger"
          disabled={isBusy}
          onClick={() =>
            run(async () => {
              await call("ratelimit.deleteOverride", { namespace: namespaceId, identifier });
              setSaved(false);
              onChanged();
            })
          }
        >
          Delete the override
        </button>
      ) : null}
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}
