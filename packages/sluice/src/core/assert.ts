/**
 * Assertions for what must hold if this code is right, whatever a caller does.
 *
 * A failed assertion is a defect of Sluice and says so; misuse by a caller is a SluiceError instead.
 */
export function assert(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`sluice: a defect, please report it: ${what}`);
}
