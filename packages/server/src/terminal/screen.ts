/** The terminal that the results of a command go to: its size and its keys. Passed in, so that a command can be tried without one. */

/** What a command may do with the terminal that its results go to. */
export interface Screen {
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly write: (text: string) => void;
  /** Every key, as the terminal sends it; answers how to stop listening. */
  readonly onKey: (callback: (key: string) => void) => () => void;
  readonly onResize: (callback: () => void) => () => void;
}

const COLUMNS_USUAL = 80;
const ROWS_USUAL = 24;

export function systemScreen(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Screen {
  return {
    // One that does not know its size says 0.
    size: () => ({ columns: output.columns || COLUMNS_USUAL, rows: output.rows || ROWS_USUAL }),
    write: (text) => {
      output.write(text);
    },
    onKey: (callback) => {
      // Keys from elsewhere than a terminal are none.
      if (input.isTTY !== true) return () => {};
      const onData = (chunk: Buffer) => {
        for (const key of chunk.toString()) callback(key);
      };
      input.setRawMode(true);
      input.on("data", onData);
      return () => {
        input.off("data", onData);
        input.setRawMode(false);
        input.pause();
      };
    },
    onResize: (callback) => {
      output.on("resize", callback);
      return () => output.off("resize", callback);
    },
  };
}
