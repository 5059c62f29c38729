/** The server: version and readiness, the state of its layers, and every setting with its source. */
import { useState } from "preact/hooks";
import type { ServerStatus, ShownSetting } from "../answers.ts";
import { call } from "../api.ts";
import { bytes, count, span } from "../format.ts";
import { Layers } from "../parts/layers.tsx";
import { Scroll } from "../parts/scroll.tsx";
import { Show } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useData } from "../parts/use-data.ts";

const NEED = "* in the workspace default";

export function Server() {
  const status = useData(() => call<ServerStatus>("server.status"), [], 2_000);
  const settings = useData(() => call<{ settings: readonly ShownSetting[] }>("server.settings"), []);
  const [isChangedOnly, setChangedOnly] = useState(true);
  return (
    <>
      <Show loaded={status} what="describe the server" need={NEED}>
        {(server) => (
          <>
            <section class="card">
              <div class="head">
                <h2>Sluice {server.version}</h2>
                <span class={`pill pill-${server.ready ? "ok" : "away"}`}>{server.ready ? "Ready" : "Not ready"}</span>
              </div>
              <dl class="facts wide-facts">
                <div>
                  <dt>Region</dt>
                  <dd>{server.region}</dd>
                </div>
                <div>
                  <dt>Processes</dt>
                  <dd>{server.processes}</dd>
                </div>
                <div>
                  <dt>Started</dt>
                  <dd>
                    <Time at={server.startedAt} />, {span(Math.max(1_000, Date.now() - server.startedAt))} ago
                  </dd>
                </div>
                <div>
                  <dt>Memory</dt>
                  <dd>{bytes(server.residentBytes)}</dd>
                </div>
                <div>
                  <dt>Connections</dt>
                  <dd>{count(server.connections)}</dd>
                </div>
                <div>
                  <dt>Node.js</dt>
                  <dd>{server.node}</dd>
                </div>
              </dl>
            </section>
            <Layers server={server} />
          </>
        )}
      </Show>
      <section class="card">
        <div class="head">
          <h2>Settings</h2>
          <label class="check">
            <input
              type="checkbox"
              checked={isChangedOnly}
              onChange={(event) => setChangedOnly(event.currentTarget.checked)}
            />
            Only those that were set
          </label>
        </div>
        <Show loaded={settings} what="read the settings" need={NEED} lines={8}>
          {({ settings: all }) => (
            <Scroll label="Settings">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Setting</th>
                    <th scope="col">Value</th>
                    <th scope="col">Source</th>
                  </tr>
                </thead>
                <tbody>
                  {all
                    .filter(({ source }) => !isChangedOnly || source !== "default")
                    .map(({ name, value, source }) => (
                      <tr key={name}>
                        <td>
                          <code>{name}</code>
                        </td>
                        <td class="name">{value}</td>
                        <td class="muted nowrap">{source}</td>
                      </tr>
                    ))}
                </tbody>
              </table>
            </Scroll>
          )}
        </Show>
      </section>
    </>
  );
}
