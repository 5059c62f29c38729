/** Administration: what was changed, who may come in, and how the server is set up. */

import { Forbidden } from "../parts/states.tsx";
import { hrefOf } from "../route.ts";
import { may, mayServe } from "../session.ts";
import { Changes } from "./changes.tsx";
import { Keys } from "./keys.tsx";
import { Server } from "./server.tsx";

export function Admin({ part }: { part: string }) {
  const tabs = [
    {
      id: "changes",
      name: "Changes",
      isAllowed: may("read_audit"),
      need: "ratelimit.*.read_audit",
      what: "read the changes",
      view: <Changes />,
    },
    {
      id: "keys",
      name: "Keys",
      isAllowed: may("read_key"),
      need: "admin.*.read_key",
      what: "list keys",
      view: <Keys />,
    },
    {
      id: "server",
      name: "Server",
      isAllowed: mayServe(),
      need: "* in the workspace default",
      what: "describe the server",
      view: <Server />,
    },
  ];
  const shown = tabs.find(({ id }) => id === part) ?? tabs.find(({ isAllowed }) => isAllowed) ?? tabs[0]!;
  return (
    <>
      <div class="head">
        <h1>Administration</h1>
        <nav class="tabs" aria-label="Administration">
          {tabs.map(({ id, name }) => (
            <a key={id} href={hrefOf("admin", id)} {...(id === shown.id ? { "aria-current": "page" } : {})}>
              {name}
            </a>
          ))}
        </nav>
      </div>
      {shown.isAllowed ? shown.view : <Forbidden what={shown.what} need={shown.need} />}
    </>
  );
}
