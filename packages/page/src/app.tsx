/** The page: its head, and the view that the address names. */
import { useEffect } from "preact/hooks";
import { key } from "./api.ts";
import * as live from "./live.ts";
import { Mark } from "./parts/mark.tsx";
import { Empty, Failed, Loading } from "./parts/states.tsx";
import { useData } from "./parts/use-data.ts";
import { hrefOf, type Place, place } from "./route.ts";
import { may, me, signIn, signOut } from "./session.ts";
import { theme, toggle } from "./theme.ts";
import { Admin } from "./views/admin.tsx";
import { FindKey, Key } from "./views/key.tsx";
import { Namespace } from "./views/namespace.tsx";
import { Namespaces } from "./views/namespaces.tsx";
import { Overview } from "./views/overview.tsx";
import { SignIn } from "./views/sign-in.tsx";

const VIEWS = [
  { id: "overview", name: "Overview" },
  { id: "namespaces", name: "Namespaces" },
  { id: "key", name: "Identifier" },
  { id: "admin", name: "Administration" },
] as const;

export function App() {
  if (key.value === null) return <SignIn />;
  return me.value === null ? <Remembered token={key.value} /> : <SignedIn />;
}

/** A key that was kept in this tab: what it may do is asked again. */
function Remembered({ token }: { token: string }) {
  const { error, reload } = useData(() => signIn(token, false), [token]);
  return <main class="view">{error === null ? <Loading /> : <Failed message={error.message} retry={reload} />}</main>;
}

function SignedIn() {
  const mayFollow = may("read_namespace");
  useEffect(() => {
    if (mayFollow) live.start();
    return live.end;
  }, [mayFollow, me.value?.keyId]);
  const at = place.value;
  return (
    <>
      <a class="skip" href="#view">
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href={hrefOf()}>
          <Mark />
          <span>Sluice</span>
        </a>
        <nav aria-label="Views">
          {VIEWS.map(({ id, name }) => (
            <a
              key={id}
              href={id === "overview" ? hrefOf() : hrefOf(id)}
              {...(at.view === id ? { "aria-current": "page" } : {})}
            >
              {name}
            </a>
          ))}
        </nav>
        <div class="bar-end">
          <span class="muted bar-who" title={`${me.value?.name ?? ""} ${me.value?.start ?? ""}…`}>
            {me.value?.workspace.name}
          </span>
          <button
            type="button"
            class="quiet"
            onClick={toggle}
            aria-label={theme.value === "dark" ? "Use the light theme" : "Use the dark theme"}
          >
            {theme.value === "dark" ? "Light" : "Dark"}
          </button>
          <button type="button" class="quiet" onClick={signOut}>
            Sign out
          </button>
        </div>
      </header>
      <main class="view" id="view" tabIndex={-1}>
        <View at={at} />
      </main>
    </>
  );
}

function View({ at: { view, parts } }: { at: Place }) {
  const [first, second, limit, duration] = parts;
  switch (view) {
    case "overview":
      return <Overview />;
    case "namespaces":
      return first === undefined || first === "" ? <Namespaces /> : <Namespace key={first} id={first} />;
    case "key": {
      if (first === undefined || second === undefined) return <FindKey />;
      const rule =
        limit === undefined || duration === undefined ? null : { limit: Number(limit), duration: Number(duration) };
      return <Key key={parts.join("/")} namespace={first} identifier={second} rule={rule} />;
    }
    case "admin":
      return <Admin part={first ?? ""} />;
    default:
      return <Empty title="There is no such view." />;
  }
}
