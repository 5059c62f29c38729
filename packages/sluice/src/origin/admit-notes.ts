/**
 * What answers to admits showed the origin to have, until it is confirmed: so that a cost which the origin counted itself need not be
 * replayed to it.
 *
 * An answer alone confirms nothing: the origin may lose it before the next beat, and the total would never be sent again. Nor does the next
 * beat alone: the origin may have gone back to a state between the last beat and the admit. Together with an unbroken connection the beat
 * confirms it: a server that was restarted or replaced cannot answer on the old connection (`life` of the port), and one that was
 * emptied has lost its beats. A note that is not confirmed by the flush that takes it is dropped, and the flush after it replays the total.
 * When a loss is found, so are all notes of calls that began before: the beats after it no longer show that loss.
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

export class AdmitNotes {
  readonly #notes = new Map<Slot, AdmitNote>();
  /** When a loss was last found. */
  #lostMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#notes.size;
  }

  keep(note: AdmitNote): void {
    if (note.beganMs > this.#lostMs) this.#notes.set(note.slot, note);
  }

  /** Takes the note that covers a cell's whole total, if there is one. A note of less is of no use, and is dropped. */
  take(slot: Slot, name: SlotName, sequence: Sequence, total: number, life: number | undefined): AdmitNote | null {
    const note = this.#notes.get(slot);
    if (note === undefined) return null;
    if (note.sequence !== sequence && note.name === name) return null;
    this.#notes.delete(slot);
    return note.name === name && note.component >= total && note.life === life ? note : null;
  }

  /** The origin may have lost what any call before `nowMs` has counted. */
  lost(nowMs: number): void {
    this.#lostMs = nowMs;
    this.#notes.clear();
  }
}
