/** What a child process is asked to do, and what it answers. Both travel as messages, so they hold plain data only. */
import type { CaseName } from "./cases.ts";
import type { LibraryFigure, LibraryOptions, LibrarySubject } from "./cold/library.ts";
import type { SharedKeyFigure, SharedKeyOptions } from "./cold/shared-key.ts";
import type { LayerFigure, LayerOptions, LayerSubject } from "./layers.ts";
import type { MemoryFigure } from "./memory.ts";
import type { SpeedFigure, SpeedOptions } from "./speed.ts";
import type { StallFigure, StallOptions, StallSubject } from "./stalls.ts";

export type Task =
  | { readonly kind: "speed"; readonly caseNames: readonly CaseName[]; readonly options: SpeedOptions }
  | { readonly kind: "memory"; readonly contenders: readonly string[]; readonly keys: number }
  | { readonly kind: "layers"; readonly subject: LayerSubject; readonly options: LayerOptions }
  | { readonly kind: "stalls"; readonly subjects: readonly StallSubject[]; readonly options: StallOptions }
  | { readonly kind: "library"; readonly subject: LibrarySubject; readonly options: LibraryOptions }
  | { readonly kind: "shared-key"; readonly options: SharedKeyOptions };

export interface Figures {
  readonly speed: SpeedFigure[];
  readonly memory: MemoryFigure[];
  readonly layers: LayerFigure[];
  readonly stalls: StallFigure[];
  readonly library: LibraryFigure[];
  readonly sharedKey: SharedKeyFigure[];
}

export function noFigures(): Figures {
  return { speed: [], memory: [], layers: [], stalls: [], library: [], sharedKey: [] };
}
