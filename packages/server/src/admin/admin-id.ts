/** The ids of records: a prefix that says what it is, and enough chance that two never meet. */
import type { Random } from "sluice";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^20 is about 2^119. */
const ID_LENGTH = 20;
/** The largest multiple of 62 up to 2^32: what is drawn above it is drawn again, or some letters would come more often. */
const DRAW_END = 2 ** 32 - (2 ** 32 % 62);

/** A key that the configuration presets is known by its id. */
export function isPreset({ id }: { readonly id: string }): boolean {
  return id.startsWith("key_preset_");
}

const NAMESPACE_ID = new RegExp(`^rlns_[0-9A-Za-z]{${ID_LENGTH}}$`);

/** Whether a text could be the id of a namespace, of any workspace. */
export function isNamespaceIdForm(text: string): boolean {
  return NAMESPACE_ID.test(text);
}

export function newId(prefix: "ws" | "rlns" | "rlor" | "key" | "key_preset", random: Random): string {
  return `${prefix}_${randomBase62(ID_LENGTH, random)}`;
}

export function randomBase62(length: number, random: Random): string {
  let text = "";
  while (text.length < length) {
    const drawn = random.uint32();
    if (drawn < DRAW_END) text += ALPHABET[drawn % 62];
  }
  return text;
}

/** A number from 0 to 2^32 - 1 in six digits: 62^6 is 13 times as much. */
export function base62Of(number: number): string {
  let text = "";
  for (let rest = number; text.length < 6; rest = Math.floor(rest / 62)) text = ALPHABET[rest % 62] + text;
  return text;
}
