/**
 * What the simulator takes from inside the library: rules and values that the checker must share with the code that it checks.
 *
 * Everything else comes from the public entry `sluice`. This is the only file of the package with a path into the library's source,
 * so the list below is the whole list. A tool checks it.
 */
export { assert } from "../../../sluice/src/core/assert.ts";
export { ERROR_BUDGET_DEFAULT } from "../../../sluice/src/core/bounds.ts";
export { encodeKey } from "../../../sluice/src/engine/key.ts";
export { EXCESS_PART, NAME_SHARE_BYTES, nameBytes, nameExcess } from "../../../sluice/src/engine/name-budget.ts";
export { publishFloor } from "../../../sluice/src/global/floor.ts";
export { NameBook } from "../../../sluice/src/global/name-book.ts";
export { freshnessMs } from "../../../sluice/src/origin/freshness.ts";
