/** A moment in the reader's zone, with UTC on hover. */
import { clock, moment, utc } from "../format.ts";

export function Time({ at, isShort = false }: { at: number; isShort?: boolean }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={utc(at)}>
      {isShort ? clock(at) : moment(at)}
    </time>
  );
}
