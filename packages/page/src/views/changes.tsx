/** The audit trail: who changed what, before and after, the newest first. */
import { useState } from "preact/hooks";
import type { Change } from "../answers.ts";
import { callPage } from "../api.ts";
import { Scroll } from "../parts/scroll.tsx";
import { Empty, Show } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useAction } from "../parts/use-action.ts";
import { useData } from "../parts/use-data.ts";

const PAGE = 50;

export function Changes() {
  const [more, setMore] = useState<{ items: readonly Change[]; cursor: string | null } | null>(null);
  const { run, isBusy } = useAction();
  const first = useData(() => {
    setMore(null);
    return callPage<Change>("ratelimit.listChanges", { limit: PAGE });
  }, []);
  return (
    <section class="card">
      <div class="head">
        <h2>Changes</h2>
        <button type="button" onClick={first.reload}>
          Refresh
        </button>
      </div>
      <Show loaded={first} what="read the changes" need="ratelimit.*.read_audit" lines={8}>
        {(page) => {
          const items = [...page.items, ...(more?.items ?? [])];
          const cursor = more === null ? page.cursor : more.cursor;
          if (items.length === 0) return <Empty title="Nothing was changed yet." />;
          return (
            <>
              <Scroll label="Changes">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">When</th>
                      <th scope="col">Who</th>
                      <th scope="col">What</th>
                      <th scope="col">Change</th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((change) => (
                      <tr key={change.revision}>
                        <td class="nowrap">
                          <Time at={change.at} />
                        </td>
                        <td class="name muted">{change.actor}</td>
                        <td class="nowrap">
                          <code>{change.action}</code>
                        </td>
                        <td class="name">
                          <Difference change={change} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
              {cursor === null ? null : (
                <button
                  type="button"
                  disabled={isBusy}
                  onClick={() =>
                    run(async () => {
                      const next = await callPage<Change>("ratelimit.listChanges", { limit: PAGE, cursor });
                      setMore({ items: [...(more?.items ?? []), ...next.items], cursor: next.cursor });
                    })
                  }
                >
                  Load older ones
                </button>
              )}
            </>
          );
        }}
      </Show>
    </section>
  );
}

/** Fields that say nothing about a change. */
const QUIET = new Set(["id", "workspaceId", "namespaceId", "createdAtMs", "updatedAtMs", "start"]);

function Difference({ change: { before, after, subject } }: { change: Change }) {
  const named = String(
    after?.["name"] ?? after?.["identifier"] ?? before?.["name"] ?? before?.["identifier"] ?? subject,
  );
  const fields = Object.keys({ ...before, ...after }).filter(
    (field) =>
      !QUIET.has(field) && field !== "name" && field !== "identifier" && text(before?.[field]) !== text(after?.[field]),
  );
  return (
    <>
      <strong>{named === "" ? subject : named}</strong>{" "}
      {before !== null && after !== null
        ? fields.map((field) => (
            <span key={field} class="difference">
              {field}: <del>{text(before[field])}</del> <ins>{text(after[field])}</ins>
            </span>
          ))
        : null}
    </>
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
