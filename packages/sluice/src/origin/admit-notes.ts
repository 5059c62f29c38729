/**
 * What answers to admits showed the origin to have, until it is confirmed: so that a cost which the origin counted itself need not be
 * replayed to it.
 *
 * An answer alone confirms nothing: the origin may lose it before the next beat, and the total would never be sent again. Nor does the next
 * beat alone: the origin may have gone back to a state between the last beat and the admit. Together with an unbroken connection the beat
 * confirms it: a server that was restarted or replaced cannot answer on the old connection (`life` of the port), and one that was
 * emptied has lost its beats. A note that is not confirmed by the flush that takes it is dropped, and the flush after it replays the total.
 * When a loss is found, so are all notes of calls that began before: the beats after it no longer show that loss.
 *
 * Bounded in number and in bytes: a note holds the name of its key, and the slot of that key may be released before a flush takes the note.
 * The oldest go first, and so do all that a flush of everything has left. A note that is gone costs one raise.
 */
import type { Sequence, Slot } from "../core/brands.ts";
import type { SlotName } from "../engine/ledger.ts";

export interface AdmitNote {
  readonly slot: Slot;
  readonly name: SlotName;
  readonly sequence: Sequence;
  /** What the origin has of the slot's component. */
  readonly component: number;
  /** The origin's life when the admit was sent, and the monotonic clock then. */
  readonly life: number;
  readonly beganMs: number;
}

const NOTES_MAX = 10_000;
const NOTES_MAX_BYTES = 8 * 2 ** 20;
/** A note and its place in the map, beside the name of its key. */
const NOTE_BYTES = 150;

export class AdmitNotes {
  /** Oldest first. */
  readonly #notes = new Map<Slot, AdmitNote>();
  bytes = 0;
  /** When a loss was last found. */
  #lostMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#notes.size;
  }

  keep(note: AdmitNote): void {
    if (note.beganMs <= this.#lostMs) return;
    this.#drop(note.slot);
    this.#notes.set(note.slot, note);
    this.bytes += noteBytes(note);
    for (const slot of this.#notes.keys()) {
      if (this.#notes.size <= NOTES_MAX && this.bytes <= NOTES_MAX_BYTES) return;
      this.#drop(slot);
    }
  }

  /** Takes the note that covers a cell's whole total, if there is one. A note of less is of no use, and is dropped. */
  take(slot: Slot, name: SlotName, sequence: Sequence, total: number, life: number | undefined): AdmitNote | null {
    const note = this.#notes.get(slot);
    if (note === undefined) return null;
    if (note.sequence !== sequence && note.name === name) return null;
    this.#drop(slot);
    return note.name === name && note.component >= total && note.life === life ? note : null;
  }

  /** The origin may have lost what any call before `nowMs` has counted. */
  lost(nowMs: number): void {
    this.#lostMs = nowMs;
    this.clear();
  }

  /** A flush has looked at every unreplayed slot: no other will take what is left. */
  clear(): void {
    this.#notes.clear();
    this.bytes = 0;
  }

  #drop(slot: Slot): void {
    const note = this.#notes.get(slot);
    if (note === undefined) return;
    this.#notes.delete(slot);
    this.bytes -= noteBytes(note);
  }
}

function noteBytes({ name }: AdmitNote): number {
  return NOTE_BYTES + name.bytes;
}
