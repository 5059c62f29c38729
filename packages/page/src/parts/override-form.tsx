/** Sets an override: a limit and a duration for one identifier, or for all that match a pattern. */
import { useState } from "preact/hooks";
import type { Rule } from "../answers.ts";
import { call } from "../api.ts";
import { useAction } from "./use-action.ts";

interface OverrideFormProps {
  readonly namespaceId: string;
  /** Fixed, if it is given. */
  readonly identifier?: string;
  readonly rule: Rule;
  readonly isShadow?: boolean;
  readonly action: string;
  readonly onSaved: () => void;
}

export function OverrideForm({ namespaceId, identifier, rule, isShadow = false, action, onSaved }: OverrideFormProps) {
  const [pattern, setPattern] = useState(identifier ?? "");
  const [limit, setLimit] = useState(String(rule.limit));
  const [seconds, setSeconds] = useState(String(rule.duration / 1_000));
  const [shadow, setShadow] = useState(isShadow);
  const { isBusy, problem, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    run(async () => {
      const duration = Math.round(Number(seconds) * 1_000);
      await call("ratelimit.setOverride", {
        namespace: namespaceId,
        identifier: pattern,
        limit: Number(limit),
        duration,
        shadow,
      });
      onSaved();
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      {identifier === undefined ? (
        <label class="wide">
          Identifier or pattern
          <input
            required
            maxLength={512}
            value={pattern}
            onInput={(event) => setPattern(event.currentTarget.value)}
            placeholder="premium_*"
          />
        </label>
      ) : null}
      <label>
        Limit
        <input
          required
          type="number"
          min={0}
          step={1}
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
          max={2_592_000}
          step="any"
          value={seconds}
          onInput={(event) => setSeconds(event.currentTarget.value)}
        />
      </label>
      <label class="check">
        <input type="checkbox" checked={shadow} onChange={(event) => setShadow(event.currentTarget.checked)} />
        Shadow: count, never deny
      </label>
      <button type="submit" class="primary" disabled={isBusy}>
        {action}
      </button>
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
