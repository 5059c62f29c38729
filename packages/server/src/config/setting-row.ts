/** How a row of a table of settings is made: with a default that is read like any other value, or without one. */
import type { Setting } from "./setting.ts";

type Row<T> = Omit<Setting<T>, "initial" | "hint"> & { readonly hint: string | Setting["hint"] };

/** A row whose default is read like any other value. */
export function setting<T>(row: Row<T>): Setting<T> {
  const initial = row.read(row.initialText);
  if (initial === undefined) throw new Error(`the default of ${row.path} is not allowed`);
  return filled(row, initial);
}

/** A row that may be left out. */
export function optional<T>(row: Omit<Row<T>, "initialText">, initialText = "none"): Setting<T | null> {
  return filled<T | null>({ ...row, initialText }, null);
}

function filled<T>({ hint, ...row }: Row<T>, initial: T): Setting<T> {
  return { ...row, initial, hint: typeof hint === "string" ? () => hint : hint };
}
