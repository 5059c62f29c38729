/** The overrides of a namespace: listed, searched, tried out on an identifier, set and deleted. */
import { useState } from "preact/hooks";
import type { Inspection, Override } from "../answers.ts";
import { call, callPage } from "../api.ts";
import { count, span } from "../format.ts";
import { hrefOf } from "../route.ts";
import { may } from "../session.ts";
import { Confirm, Dialog } from "./dialog.tsx";
import { OverrideForm } from "./override-form.tsx";
import { Scroll } from "./scroll.tsx";
import { Empty, Show } from "./states.tsx";
import { useAction } from "./use-action.ts";
import { useData } from "./use-data.ts";

const NEW = { limit: 100, duration: 60_000 };

export function Overrides({ namespaceId }: { namespaceId: string }) {
  const [text, setText] = useState("");
  const [edited, setEdited] = useState<Override | "new" | null>(null);
  const [doomed, setDoomed] = useState<Override | null>(null);
  const { run } = useAction();
  const list = useData(
    () => callPage<Override>("ratelimit.listOverrides", { namespace: namespaceId, limit: 100 }),
    [namespaceId],
  );
  const saved = () => {
    setEdited(null);
    list.reload();
  };
  return (
    <section class="card">
      <div class="head">
        <h2>Overrides</h2>
        {may("set_override", namespaceId) ? (
          <button type="button" onClick={() => setEdited("new")}>
            New override
          </button>
        ) : null}
      </div>
      <Try namespaceId={namespaceId} />
      <Show loaded={list} what="read overrides" need="ratelimit.*.read_override">
        {({ items, cursor }) => (
          <>
            {items.length === 0 ? (
              <Empty title="No overrides.">Every identifier gets the limit that its request asks for.</Empty>
            ) : (
              <>
                <label class="form wide">
                  Search
                  <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
                </label>
                <Scroll label="Overrides">
                  <table>
                    <thead>
                      <tr>
                        <th scope="col">Identifier or pattern</th>
                        <th scope="col" class="number">
                          Limit
                        </th>
                        <th scope="col" class="number">
                          Window
                        </th>
                        <th scope="col">Mode</th>
                        <th scope="col">
                          <span class="hidden">Actions</span>
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {items
                        .filter(({ identifier }) => identifier.includes(text))
                        .map((one) => (
                          <tr key={one.overrideId}>
                            <td class="name">
                              {one.identifier.includes("*") ? (
                                <code>{one.identifier}</code>
                              ) : (
                                <a href={hrefOf("key", namespaceId, one.identifier)}>{one.identifier}</a>
                              )}
                            </td>
                            <td class="number">{one.limit === 0 ? "banned" : count(one.limit)}</td>
                            <td class="number">{span(one.duration)}</td>
                            <td>{one.shadow ? <span class="pill pill-shadow">shadow</span> : "enforced"}</td>
                            <td class="actions">
                              {may("set_override", namespaceId) ? (
                                <button type="button" onClick={() => setEdited(one)}>
                                  Edit<span class="hidden"> {one.identifier}</span>
                                </button>
                              ) : null}
                              {may("delete_override", namespaceId) ? (
                                <button type="button" class="danger" onClick={() => setDoomed(one)}>
                                  Delete<span class="hidden"> {one.identifier}</span>
                                </button>
                              ) : null}
                            </td>
                          </tr>
                        ))}
                    </tbody>
                  </table>
                </Scroll>
              </>
            )}
            {cursor === null ? null : <p class="muted small">The first 100 are shown.</p>}
          </>
        )}
      </Show>
      {edited === null ? null : (
        <Dialog title={edited === "new" ? "New override" : "Change the override"} onClose={() => setEdited(null)}>
          <OverrideForm
            namespaceId={namespaceId}
            rule={edited === "new" ? NEW : edited}
            action="Save"
            onSaved={saved}
            {...(edited === "new" ? {} : { identifier: edited.identifier, isShadow: edited.shadow })}
          />
          <div class="actions">
            <button type="button" onClick={() => setEdited(null)}>
              Cancel
            </button>
          </div>
        </Dialog>
      )}
      {doomed === null ? null : (
        <Confirm
          title="Delete the override?"
          text={`${doomed.identifier} then gets the limit of the next pattern that matches, or the limit that its requests ask for.`}
          action="Delete the override"
          onClose={() => setDoomed(null)}
          onConfirm={() =>
            run(async () => {
              await call("ratelimit.deleteOverride", { namespace: namespaceId, identifier: doomed.identifier });
              setDoomed(null);
              list.reload();
            })
          }
        />
      )}
    </section>
  );
}

/** Which override an identifier gets: asked of the server, which has the one rule for it. */
function Try({ namespaceId }: { namespaceId: string }) {
  const [identifier, setIdentifier] = useState("");
  const [found, setFound] = useState<Inspection | null>(null);
  const { problem, run } = useAction();
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        run(async () =>
          setFound(await call<Inspection>("ratelimit.inspect", { namespace: namespaceId, identifier, ...NEW })),
        );
      }}
    >
      <label class="wide">
        Which override applies to
        <input
          required
          maxLength={512}
          value={identifier}
          onInput={(event) => setIdentifier(event.currentTarget.value)}
          placeholder="user_123"
        />
      </label>
      <button type="submit">Test</button>
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {found === null || problem !== null ? null : (
        <p role="status" class="wide">
          {found.override === null ? (
            <>
              No override applies to <code>{found.identifier}</code>.
            </>
          ) : (
            <>
              <code>{found.identifier}</code> gets {count(found.override.limit)} per {span(found.override.duration)}, by{" "}
              <code>{found.override.identifier}</code>.
            </>
          )}
        </p>
      )}
    </form>
  );
}
