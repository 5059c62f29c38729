/** The keys of the workspace: listed, created, rotated and revoked. A new key is shown once. */
import { useState } from "preact/hooks";
import type { ManagedKey } from "../answers.ts";
import { call, callPage } from "../api.ts";
import { Confirm, Dialog } from "../parts/dialog.tsx";
import { Scroll } from "../parts/scroll.tsx";
import { Show } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useAction } from "../parts/use-action.ts";
import { useData } from "../parts/use-data.ts";
import { may, me } from "../session.ts";

/** What a service needs, what a person who watches needs, and everything. */
const KINDS = [
  { name: "Limit requests", permissions: ["ratelimit.*.limit", "ratelimit.*.create_namespace"] },
  { name: "Watch", permissions: ["ratelimit.*.read_namespace", "ratelimit.*.read_override"] },
  {
    name: "Watch and set overrides",
    permissions: [
      "ratelimit.*.read_namespace",
      "ratelimit.*.read_override",
      "ratelimit.*.set_override",
      "ratelimit.*.delete_override",
    ],
  },
  { name: "Everything", permissions: ["*"] },
] as const;

export function Keys() {
  const list = useData(() => callPage<ManagedKey>("admin.listKeys", { limit: 100 }), []);
  const [secret, setSecret] = useState<string | null>(null);
  const [asking, setAsking] = useState<{ readonly kind: "rotate" | "revoke"; readonly key: ManagedKey } | null>(null);
  const { problem, run } = useAction();
  const done = (token: string | null) => {
    setAsking(null);
    setSecret(token);
    list.reload();
  };
  return (
    <>
      {may("create_key") ? <Create onCreated={done} /> : null}
      <section class="card">
        <h2>Keys</h2>
        {problem === null ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <Show loaded={list} what="list keys" need="admin.*.read_key">
          {({ items }) => (
            <Scroll label="Keys">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">Key</th>
                    <th scope="col">State</th>
                    <th scope="col">Permissions</th>
                    <th scope="col">Created</th>
                    <th scope="col">
                      <span class="hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((key) => (
                    <tr key={key.keyId}>
                      <td class="name">
                        {key.name === "" ? <span class="muted">no name</span> : key.name}
                        {key.keyId === me.value?.keyId ? <span class="pill">this one</span> : null}
                      </td>
                      <td class="nowrap">
                        <code>{key.start}…</code>
                      </td>
                      <td>
                        <span class={`pill pill-${key.state === "active" ? "ok" : "away"}`}>{key.state}</span>
                      </td>
                      <td class="name small">{key.permissions.join(", ")}</td>
                      <td class="nowrap">
                        <Time at={key.createdAt} />
                      </td>
                      <td class="actions">
                        {may("rotate_key") && !key.preset && key.state === "active" ? (
                          <button type="button" onClick={() => setAsking({ kind: "rotate", key })}>
                            Rotate<span class="hidden"> {key.name === "" ? key.keyId : key.name}</span>
                          </button>
                        ) : null}
                        {may("revoke_key") ? (
                          <button type="button" class="danger" onClick={() => setAsking({ kind: "revoke", key })}>
                            Revoke<span class="hidden"> {key.name === "" ? key.keyId : key.name}</span>
                          </button>
                        ) : null}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          )}
        </Show>
      </section>
      {asking === null ? null : (
        <Confirm
          title={asking.kind === "rotate" ? "Rotate the key?" : "Revoke the key?"}
          text={
            asking.kind === "rotate"
              ? "A new key with the same permissions is created. The old one is valid for one more hour."
              : "Servers refuse it within a second. It cannot be undone."
          }
          action={asking.kind === "rotate" ? "Rotate" : "Revoke"}
          onClose={() => setAsking(null)}
          onConfirm={() =>
            run(async () => {
              const { keyId } = asking.key;
              if (asking.kind === "revoke") {
                await call("admin.revokeKey", { keyId });
                done(null);
              } else {
                done((await call<{ key: string }>("admin.rotateKey", { keyId, grace: 3_600_000 })).key);
              }
            })
          }
        />
      )}
      {secret === null ? null : (
        <Dialog title="The new key" onClose={() => setSecret(null)}>
          <p>It is shown only here, and not stored. Copy it now.</p>
          <p class="secret">
            <code>{secret}</code>
          </p>
          <div class="actions">
            <button type="button" onClick={() => void navigator.clipboard?.writeText(secret)}>
              Copy
            </button>
            <button type="button" class="primary" onClick={() => setSecret(null)}>
              Done
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Create({ onCreated }: { onCreated: (token: string) => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState(0);
  const [days, setDays] = useState("");
  const { isBusy, problem, run } = useAction();
  return (
    <section class="card">
      <h2>New key</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          run(async () => {
            const body = {
              ...(name === "" ? {} : { name }),
              permissions: KINDS[kind]!.permissions,
              ...(days === "" ? {} : { expiresAt: Date.now() + Number(days) * 86_400_000 }),
            };
            const { key } = await call<{ key: string }>("admin.createKey", body);
            setName("");
            onCreated(key);
          });
        }}
      >
        <label>
          Name
          <input
            maxLength={128}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            placeholder="mailer"
          />
        </label>
        <label>
          May
          <select value={kind} onChange={(event) => setKind(Number(event.currentTarget.value))}>
            {KINDS.map((one, i) => (
              <option key={one.name} value={i}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Expires after days
          <input
            type="number"
            min={1}
            max={3_650}
            value={days}
            onInput={(event) => setDays(event.currentTarget.value)}
            placeholder="never"
          />
        </label>
        <button type="submit" class="primary" disabled={isBusy}>
          Create key
        </button>
        <p class="muted small wide">{KINDS[kind]!.permissions.join(", ")}</p>
        {problem === null ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </form>
    </section>
  );
}
