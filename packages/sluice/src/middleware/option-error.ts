/** The error of an invalid option of a middleware: one code, and the rule of the option. */
import { OPTION_RULES, SluiceError } from "../core/errors.ts";

const RULES: typeof OPTION_RULES.RL_MIDDLEWARE_OPTION_INVALID = OPTION_RULES.RL_MIDDLEWARE_OPTION_INVALID;

export function optionError(option: keyof typeof RULES, value: unknown, field: string = option): SluiceError {
  return new SluiceError("RL_MIDDLEWARE_OPTION_INVALID", field, value, { rule: RULES[option] });
}
