/** The way in: a key, and nothing else. */
import { useState } from "preact/hooks";
import { Mark } from "../parts/mark.tsx";
import { useAction } from "../parts/use-action.ts";
import { signIn } from "../session.ts";

export function SignIn() {
  const [token, setToken] = useState("");
  const [isRemembered, setRemembered] = useState(false);
  const { isBusy, problem, run } = useAction();
  return (
    <main class="sign-in">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          run(() => signIn(token.trim(), isRemembered));
        }}
      >
        <div class="brand">
          <Mark />
          <h1>Sluice</h1>
        </div>
        <p class="muted">Sign in with a key of this server. The page can do what the key may do, and no more.</p>
        <label>
          Key
          <input
            type="password"
            required
            autocomplete="off"
            spellcheck={false}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            placeholder="sluice_…"
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isRemembered}
            onChange={(event) => setRemembered(event.currentTarget.checked)}
          />
          Keep it until this tab is closed
        </label>
        <button type="submit" class="primary" disabled={isBusy}>
          Sign in
        </button>
        {problem === null ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p class="muted small">
          The first root key was printed when the server started, or written to <code>root-key</code> in its data
          folder. Create others with <code>sluice keys create</code>.
        </p>
      </form>
    </main>
  );
}
