/**
 * A model of one cell in one region whose origin can be emptied: may the region's own row be put back into the origin?
 *
 * Every order of the steps below is tried, breadth first, so a counterexample is a shortest one. Steps: a process accepts one unit, sends
 * its total, is killed, starts; the origin executes any message that was ever sent (late or repeated), or loses everything; a process
 * publishes the region's count, imports the region's row, and, depending on the rule, restores it.
 *
 * Time does not exist here: a process that does nothing for a while is a frozen one. So no rule that waits "long enough" for survivors is
 * a different rule.
 *
 * Invariant that is checked in every state: no view, no sum in the origin and no row is above what was really accepted.
 */

/**
 * What a process that found the origin empty when it started, and has accepted nothing yet, does when it imports the region's row.
 *
 * - `none`: the row is a lower bound of its own view, and nothing else
 * - `row`: raises a component that belongs to no process to the row
 * - `rest`: raises that component to what the row has more than the origin holds now
 * - `when-empty`: like `row`, but only while the origin still holds nothing at all
 * - `nobody-survived`: like `when-empty`, and only if every older process is dead. No real process can know that: an oracle tells it
 * - `apart`: an emptied origin is a new origin. Counts, rows and views are kept apart by the origin's id, and the rows of older ids are added
 *    like another region's. A process that survived goes on under the id it knows.
 */
export type RestoreRule = "none" | "row" | "rest" | "when-empty" | "nobody-survived" | "apart";

export interface ModelBounds {
  readonly accepts: number;
  readonly losses: number;
  readonly starts: number;
}

interface Process {
  readonly isAlive: boolean;
  /** The id of the origin that it counts in; only `apart` tells ids from each other. */
  readonly origin: number;
  readonly own: number;
  readonly others: number;
  /** Rows of older origin ids, as imported. */
  readonly foreign: number;
  /** Whether it found the origin empty when it started, and has restored nothing since. */
  readonly mayRestore: boolean;
  /** A restore that was decided and is not executed yet: the value. */
  readonly restoring: number;
}

interface State {
  readonly accepted: number;
  readonly losses: number;
  readonly processes: readonly Process[];
  /** By origin id and writer; the writer -1 is the component that belongs to no process. */
  readonly components: Readonly<Record<string, number>>;
  /** The highest total that each writer has ever sent: any message up to it may still arrive. */
  readonly sent: Readonly<Record<string, number>>;
  /** The identity that the origin holds; 0 after a loss. */
  readonly identity: number;
  readonly identities: number;
  /** By origin id. */
  readonly rows: Readonly<Record<string, number>>;
}

export interface ModelReport {
  readonly states: number;
  /** The steps to the first state in which something is above the truth; null if there is none within the bounds. */
  readonly counterexample: readonly string[] | null;
}

const NOBODY = -1;

export function explore(rule: RestoreRule, bounds: ModelBounds): ModelReport {
  const start: State = {
    accepted: 0,
    losses: 0,
    processes: [born(1, false), born(1, false)],
    components: {},
    sent: {},
    identity: 1,
    identities: 1,
    rows: {},
  };
  const seen = new Map<string, { readonly before: string; readonly step: string }>([
    [textOf(start), { before: "", step: "" }],
  ]);
  let layer = [start];
  while (layer.length > 0) {
    const next: State[] = [];
    for (const state of layer) {
      for (const [step, after] of steps(state, rule, bounds)) {
        const text = textOf(after);
        if (seen.has(text)) continue;
        seen.set(text, { before: textOf(state), step });
        if (isAbove(after)) return { states: seen.size, counterexample: pathTo(text, seen) };
        next.push(after);
      }
    }
    layer = next;
  }
  return { states: seen.size, counterexample: null };
}

function* steps(state: State, rule: RestoreRule, bounds: ModelBounds): Generator<readonly [string, State]> {
  const { processes, components, sent, rows, identity } = state;
  for (const [i, one] of processes.entries()) {
    if (!one.isAlive) continue;
    const name = `${one.origin}/${i}`;
    const put = (change: Partial<Process>): Pick<State, "processes"> => ({
      processes: processes.map((process, at) => (at === i ? { ...process, ...change } : process)),
    });
    if (state.accepted < bounds.accepts) {
      yield [`p${i} accepts 1`, { ...state, accepted: state.accepted + 1, ...put({ own: one.own + 1 }) }];
    }
    if (one.own > (sent[name] ?? 0)) yield [`p${i} sends ${one.own}`, { ...state, sent: { ...sent, [name]: one.own } }];
    const sum = sumOf(components, one.origin);
    const others = Math.max(one.others, sum - (components[name] ?? 0));
    if (others > one.others) yield [`p${i} reads ${sum}`, { ...state, ...put({ others }) }];
    const regional = one.own + one.others;
    if (regional > (rows[one.origin] ?? 0)) {
      yield [`p${i} publishes ${regional}`, { ...state, rows: { ...rows, [one.origin]: regional } }];
    }
    yield [`p${i} imports`, { ...state, ...put(imported(state, one, rule)) }];
    if (one.restoring > 0) {
      const raised = { ...components, [`${one.origin}/${NOBODY}`]: one.restoring };
      const before = components[`${one.origin}/${NOBODY}`] ?? 0;
      yield [
        `p${i} restores ${one.restoring}`,
        { ...state, components: one.restoring > before ? raised : components, ...put({ restoring: 0 }) },
      ];
    }
    // A process that knows the id raises it again.
    if (identity < one.origin) yield [`p${i} raises the id`, { ...state, identity: one.origin }];
    yield [
      `p${i} is killed`,
      { ...state, ...put({ isAlive: false, own: 0, others: 0, foreign: 0, mayRestore: false, restoring: 0 }) },
    ];
  }
  for (const [name, total] of Object.entries(sent)) {
    if (total > (components[name] ?? 0)) {
      yield [`the origin executes ${name} = ${total}`, { ...state, components: { ...components, [name]: total } }];
    }
  }
  if (state.losses < bounds.losses) {
    yield ["the origin is emptied", { ...state, losses: state.losses + 1, components: {}, identity: 0 }];
  }
  if (processes.length - 2 < bounds.starts) {
    const isEmpty = identity === 0;
    const isDrawn = rule === "apart" && isEmpty;
    const id = isDrawn ? state.identities + 1 : rule === "apart" ? identity : 1;
    yield [
      `p${processes.length} starts${isDrawn ? ` and draws the id ${id}` : ""}`,
      {
        ...state,
        processes: [...processes, born(id, isEmpty)],
        identity: id,
        identities: Math.max(state.identities, id),
      },
    ];
  }
}

/** What an import of the region's rows does to a process. */
function imported({ components, rows, processes }: State, one: Process, rule: RestoreRule): Partial<Process> {
  const row = rows[one.origin] ?? 0;
  let foreign = one.foreign;
  if (rule === "apart") {
    let older = 0;
    for (const [id, count] of Object.entries(rows)) if (Number(id) !== one.origin) older += count;
    foreign = Math.max(foreign, older);
  }
  const lower = { others: Math.max(one.others, row - one.own), foreign };
  const sum = sumOf(components, one.origin);
  if (!one.mayRestore || one.own > 0 || row <= sum) return lower;
  const restored = { ...lower, mayRestore: false };
  if (rule === "row") return { ...restored, restoring: row };
  if (rule === "rest") return { ...restored, restoring: row - sum };
  if (sum > 0) return lower;
  if (rule === "when-empty") return { ...restored, restoring: row };
  const isAlone = processes.every((process) => process === one || !process.isAlive);
  return rule === "nobody-survived" && isAlone ? { ...restored, restoring: row } : lower;
}

function isAbove({ accepted, processes, components, rows }: State): boolean {
  const isView = processes.some(({ own, others, foreign }) => own + others + foreign > accepted);
  const isSum = Object.keys(rows).some((id) => sumOf(components, Number(id)) > accepted);
  return isView || isSum || Object.values(rows).reduce((sum, row) => sum + row, 0) > accepted;
}

function sumOf(components: State["components"], origin: number): number {
  let sum = 0;
  for (const [name, total] of Object.entries(components)) if (name.startsWith(`${origin}/`)) sum += total;
  return sum;
}

function born(origin: number, mayRestore: boolean): Process {
  return { isAlive: true, origin, own: 0, others: 0, foreign: 0, mayRestore, restoring: 0 };
}

/** Two states with the same text have the same future: the order of fields does not matter. */
function textOf(state: State): string {
  const sorted = (record: Readonly<Record<string, number>>) => Object.entries(record).sort().join();
  const processes = state.processes.map((one) => Object.values(one).join(":")).join(";");
  const { accepted, losses, identity, identities } = state;
  return [
    accepted,
    losses,
    processes,
    sorted(state.components),
    sorted(state.sent),
    identity,
    identities,
    sorted(state.rows),
  ].join("|");
}

function pathTo(text: string, seen: ReadonlyMap<string, { readonly before: string; readonly step: string }>): string[] {
  const path: string[] = [];
  for (let at = seen.get(text); at !== undefined && at.step !== ""; at = seen.get(at.before)) path.unshift(at.step);
  return path;
}
