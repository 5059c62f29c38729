/** What was typed or written cannot be meant: says what, the bounds, the value given, and a hint. Exit code 2. */

const SHOWN_MAX = 60;

export class InputError extends Error {
  override readonly name = "InputError";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }

  /** `--limit must be an integer from 1 to 10; got "eleven"`. */
  static of({ field, rule, value, hint }: Misfit): InputError {
    return new InputError(`${field} must be ${rule}; got ${shown(value)}`, hint);
  }
}

export interface Misfit {
  /** A flag, or a key and the file it stands in. */
  readonly field: string;
  readonly rule: string;
  readonly value: unknown;
  readonly hint: string;
}

/** A value as a short text on one line: whatever a file may hold. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const isPlain = typeof value === "bigint" || typeof value === "number";
  const text = isPlain ? String(value) : (JSON.stringify(value) ?? typeof value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}… (${text.length} characters)` : text;
}
