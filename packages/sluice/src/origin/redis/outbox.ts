/**
 * Questions of one kind on their way to Redis: those of one turn travel together, in as few commands as possible.
 *
 * A Cluster's commands speak of one hash slot each. A command is sent once. Only one that its server has refused to execute goes out
 * again: here if it does not have the script, in cluster.ts if it does not have the slot. An answer is therefore always that of the one
 * execution, which `admit` depends on.
 *
 * Of a call whose commands fail in part, the rest stands: a Cluster's node that is away keeps nothing from the others.
 */
import type { CellName } from "../origin.ts";
import type { RedisCellNames } from "./cell.ts";
import { failureOf, RedisFailure } from "./failure.ts";
import type { Question } from "./questions.ts";
import type { RedisRoute } from "./route.ts";
import { commandOf, type ScriptCall } from "./script.ts";

const HEARTBEAT = "heartbeat:";

/** What somebody waits for: the answers about several cells at once. */
interface Waiting<Answer> {
  readonly answers: Answer[];
  left: number;
  /** Whether anything of it was answered. */
  isAnswered: boolean;
  resolve(answers: readonly Answer[]): void;
  reject(failure: RedisFailure): void;
}

/** What one command carries. */
interface Load<Cell, Answer> {
  readonly keys: string[];
  readonly cells: Cell[];
  /** For each cell, who waits for it, and which of their answers it is. */
  readonly waiting: Waiting<Answer>[];
  readonly indexes: number[];
}

export interface OutboxListener {
  sent(isWhole: boolean): void;
  failed(failure: RedisFailure): void;
}

export class Outbox<Cell extends CellName, Answer> {
  readonly #question: Question<Cell, Answer>;
  readonly #names: RedisCellNames;
  readonly #route: RedisRoute;
  readonly #listener: OutboxListener;
  /** What goes out at the end of this turn, by what the keys of a command must have in common. */
  #loads: Map<number | null, Load<Cell, Answer>> | null = null;
  #mark = 0;

  constructor(question: Question<Cell, Answer>, names: RedisCellNames, route: RedisRoute, listener: OutboxListener) {
    this.#question = question;
    this.#names = names;
    this.#route = route;
    this.#listener = listener;
  }

  ask(cells: readonly Cell[]): Promise<readonly Answer[]> {
    if (cells.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const waiting: Waiting<Answer> = { answers: [], left: 0, isAnswered: false, resolve, reject };
      cells.forEach((cell, index) => {
        const keys = this.#question.keysOf(cell, this.#names);
        if (!cell.key.startsWith(HEARTBEAT)) this.#add(keys, cell, waiting, index);
        else for (const key of this.#route.spread(keys[0]!)) this.#add([key], cell, waiting, index);
      });
    });
  }

  #add(keys: readonly string[], cell: Cell, waiting: Waiting<Answer>, index: number): void {
    const group = this.#route.groupOf(keys[0]!);
    const loads = this.#open();
    let load = loads.get(group);
    if (load === undefined || load.cells.length === this.#question.perCommand) {
      if (load !== undefined) this.#send(load);
      load = { keys: [], cells: [], waiting: [], indexes: [] };
      loads.set(group, load);
    }
    waiting.left++;
    load.keys.push(...keys);
    load.cells.push(cell);
    load.waiting.push(waiting);
    load.indexes.push(index);
  }

  #open(): Map<number | null, Load<Cell, Answer>> {
    if (this.#loads === null) {
      this.#loads = new Map();
      void Promise.resolve().then(() => {
        const loads = this.#loads!;
        this.#loads = null;
        for (const load of loads.values()) this.#send(load);
      });
    }
    return this.#loads;
  }

  #send(load: Load<Cell, Answer>): void {
    const args: string[] = [];
    for (const cell of load.cells) this.#question.addArgs(cell, args);
    const call: ScriptCall = { script: this.#question.script, mark: String(++this.#mark), keys: load.keys, args };
    execute(call, this.#route, this.#listener).then(
      (answer) => this.#read(load, call, answer),
      (error: unknown) => this.#fail(load, error),
    );
  }

  #read(load: Load<Cell, Answer>, { mark, keys }: ScriptCall, answer: unknown): void {
    try {
      const answers = this.#question.answersOf(load.cells, answer, mark, (failure) => this.#listener.failed(failure));
      this.#settle(load, answers);
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === "junk") this.#route.distrust(keys[0]!, failure);
      this.#fail(load, failure);
    }
  }

  #fail(load: Load<Cell, Answer>, error: unknown): void {
    const failure = failureOf(error);
    this.#listener.failed(failure);
    this.#settle(load, failure);
  }

  /** A cell that is on several servers is what the least of them says. */
  #settle({ waiting, indexes }: Load<Cell, Answer>, outcome: readonly Answer[] | RedisFailure): void {
    const { unknown, least } = this.#question;
    const failure = outcome instanceof RedisFailure ? outcome : null;
    waiting.forEach((one, i) => {
      const answer = outcome instanceof RedisFailure ? unknown : outcome[i]!;
      const index = indexes[i]!;
      const known = one.answers[index];
      one.answers[index] = known === undefined ? answer : least(known, answer);
      one.isAnswered ||= failure === null;
      one.left--;
      if (one.left > 0) return;
      if (one.isAnswered || failure === null) one.resolve(one.answers);
      else one.reject(failure);
    });
  }
}

/** Sends one call; a second time only if the server does not have its script. */
export async function execute(call: ScriptCall, route: RedisRoute, listener: OutboxListener): Promise<unknown> {
  const [key = ""] = call.keys;
  listener.sent(false);
  try {
    return await route.send(key, commandOf(call, false));
  } catch (error) {
    if (!failureOf(error).message.startsWith("NOSCRIPT")) throw error;
    // It was not executed. The whole text goes out, and the server keeps it.
    listener.sent(true);
    return route.send(key, commandOf(call, true));
  }
}
