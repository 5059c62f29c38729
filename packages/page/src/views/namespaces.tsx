/** All namespaces that the key may read: found by name, created, and restored. */
import { useState } from "preact/hooks";
import type { Namespace } from "../answers.ts";
import { call, callPage } from "../api.ts";
import { Empty, Forbidden, Show } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useAction } from "../parts/use-action.ts";
import { useData } from "../parts/use-data.ts";
import { go, hrefOf } from "../route.ts";
import { may, mayReadSome } from "../session.ts";

const PAGE = 100;

export function Namespaces() {
  const [text, setText] = useState("");
  const [withDeleted, setWithDeleted] = useState(false);
  const [more, setMore] = useState<{ items: readonly Namespace[]; cursor: string | null } | null>(null);
  const first = useData(() => {
    setMore(null);
    return callPage<Namespace>("ratelimit.listNamespaces", { limit: PAGE, deleted: withDeleted });
  }, [withDeleted]);
  const { run, isBusy } = useAction();
  if (!mayReadSome()) return <Forbidden what="read namespaces" need="ratelimit.*.read_namespace" />;
  return (
    <>
      <div class="head">
        <h1>Namespaces</h1>
      </div>
      {may("create_namespace") ? <Create onCreated={first.reload} /> : null}
      <section class="card">
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            if (text !== "") go("namespaces", text);
          }}
        >
          <label class="wide">
            Find by name
            <input
              type="search"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              placeholder="Filter, or a whole name and Enter"
            />
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={withDeleted}
              onChange={(event) => setWithDeleted(event.currentTarget.checked)}
            />
            With deleted ones
          </label>
        </form>
        <Show loaded={first} what="list namespaces" need="ratelimit.*.read_namespace">
          {(page) => {
            const items = [...page.items, ...(more?.items ?? [])];
            const cursor = more === null ? page.cursor : more.cursor;
            const shown = items.filter(({ name }) => name.includes(text));
            return (
              <>
                {shown.length === 0 ? (
                  <Empty title={items.length === 0 ? "There is no namespace yet." : "None of those that are loaded."} />
                ) : (
                  <List items={shown} />
                )}
                {cursor === null ? null : (
                  <button
                    type="button"
                    disabled={isBusy}
                    onClick={() =>
                      run(async () => {
                        const next = await callPage<Namespace>("ratelimit.listNamespaces", {
                          limit: PAGE,
                          deleted: withDeleted,
                          cursor,
                        });
                        setMore({ items: [...(more?.items ?? []), ...next.items], cursor: next.cursor });
                      })
                    }
                  >
                    Load {PAGE} more
                  </button>
                )}
              </>
            );
          }}
        </Show>
      </section>
    </>
  );
}

function List({ items }: { items: readonly Namespace[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Mode</th>
          <th scope="col">Created</th>
        </tr>
      </thead>
      <tbody>
        {items.map(({ namespaceId, name, shadow, createdAt, deletedAt }) => (
          <tr key={namespaceId}>
            <td class="name">
              <a href={hrefOf("namespaces", namespaceId)}>{name}</a>
            </td>
            <td>
              {deletedAt !== undefined ? (
                <span class="pill pill-away">deleted</span>
              ) : shadow ? (
                <span class="pill pill-shadow">shadow</span>
              ) : (
                "enforced"
              )}
            </td>
            <td>
              <Time at={createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Create({ onCreated }: { onCreated: () => void }) {
  const [name, setName] = useState("");
  const { isBusy, problem, run } = useAction();
  return (
    <section class="card">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          run(async () => {
            await call("ratelimit.createNamespace", { name });
            setName("");
            onCreated();
          });
        }}
      >
        <label class="wide">
          New namespace
          <input
            required
            maxLength={512}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            placeholder="email.outbound"
          />
        </label>
        <button type="submit" disabled={isBusy}>
          Create
        </button>
        {problem === null ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </form>
    </section>
  );
}
