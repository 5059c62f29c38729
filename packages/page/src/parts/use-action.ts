/** Something that a person does: while it is under way it cannot be done again, and what the server says of it is shown. */
import { useState } from "preact/hooks";

export interface Action {
  readonly isBusy: boolean;
  /** The server's words, if it refused. */
  readonly problem: string | null;
  readonly run: (work: () => Promise<void>) => void;
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  return {
    isBusy,
    problem,
    run: (work) => {
      setBusy(true);
      setProblem(null);
      work()
        .catch((error: Error) => setProblem(error.message))
        .finally(() => setBusy(false));
    },
  };
}
