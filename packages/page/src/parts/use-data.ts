/** Data of the API for a part of the page: loaded when it is shown, again when what it depends on changes, and on a timer if it shall stay fresh. */
import { useEffect, useRef, useState } from "preact/hooks";
import { CallError } from "../api.ts";

export interface Loaded<Data> {
  /** The last that was loaded; null: nothing yet. */
  readonly data: Data | null;
  /** Why the last attempt failed. */
  readonly error: CallError | null;
  readonly reload: () => void;
}

export function useData<Data>(load: () => Promise<Data>, on: readonly unknown[], everyMs = 0): Loaded<Data> {
  const [state, setState] = useState<{ data: Data | null; error: CallError | null; on: string }>({
    data: null,
    error: null,
    on: "",
  });
  const [asked, setAsked] = useState(0);
  const name = JSON.stringify(on);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = () => {
      latest
        .current()
        .then(
          (data) => {
            if (!isOver) setState({ data, error: null, on: name });
          },
          (error: unknown) => {
            const problem = error instanceof CallError ? error : new CallError(0, "", String(error));
            if (!isOver)
              setState((before) => ({ data: before.on === name ? before.data : null, error: problem, on: name }));
          },
        )
        .finally(() => {
          if (!isOver && everyMs > 0) timer = setTimeout(run, everyMs);
        });
    };
    run();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [name, asked, everyMs]);
  // What was loaded for something else is not shown.
  const isCurrent = state.on === name;
  return {
    data: isCurrent ? state.data : null,
    error: isCurrent ? state.error : null,
    reload: () => setAsked(asked + 1),
  };
}
