// The surroundings of a group of attacks, and how its attempts are judged.

import { draw } from "../../cli/replay/plan.ts";
import { type Answer, refusal, soundness, unchanged, type Verdict } from "./judge.ts";
import type { Account, Scoreboard } from "./scoreboard.ts";
import type { Target } from "./target.ts";

/** Clients of a model that is changed while it serves. */
const CLIENTS = 6;

/** One step of a group. It judges one request or a few that belong together. */
export type Attempt = () => Promise<void>;

/** A group of attacks. It prepares its models and returns its attempts, which run in order. */
export interface Group {
  readonly name: string;
  prepare(stage: Stage): Promise<Attempt[]>;
}

/** The target, the seeded draws and the verdicts of a group. */
export class Stage {
  readonly target: Target;
  /** Multiplies the number of seeded attempts. 1 is the default length. */
  readonly scale: number;
  readonly #name: string;
  readonly #board: Scoreboard;
  readonly #seed: number;
  #draws = 0;

  constructor(name: string, { target, board, seed, scale }: { target: Target; board: Scoreboard; seed: number; scale: number }) {
    this.#name = name;
    this.#board = board;
    this.#seed = seed;
    this.target = target;
    this.scale = scale;
  }

  check(sent: string, verdict: Verdict): void {
    this.#board.check(this.#name, sent, verdict);
  }

  /** An attempt that the worker must refuse with one of these statuses. */
  refused(sent: string, send: () => Promise<Answer>, ...statuses: readonly number[]): Attempt {
    return async () => this.check(sent, refusal(await send(), ...statuses));
  }

  /** An attempt that must find a state as it was before the others. */
  unchanged(before: unknown, read: () => Promise<unknown>): Attempt {
    return async () => this.check("all of these", unchanged(before, await read()));
  }

  /** Keeps a finding that is no breach. */
  note(finding: string): void {
    this.#board.notes.push(`${this.#name}: ${finding}`);
  }

  account(what: string, account: Account): void {
    this.#board.account(this.#name, what, account);
  }

  /** The next seeded whole number below `most`. */
  below(most: number): number {
    return Math.floor(draw(this.#seed, this.#name, this.#draws++) * most);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)];
  }

  /** `count` attempts at the default length, more or fewer in a longer or shorter attack. */
  repeated(count: number, attempt: (index: number) => Promise<void>): Attempt[] {
    return Array.from({ length: Math.max(1, Math.round(count * this.scale)) }, (_, index) => () => attempt(index));
  }

  /** Clients recommend while `change` runs. Each answer must be sound, and `take` gets each impression. */
  async whileServing(what: string, model: string, change: () => Promise<void>, take: (impressionId: string) => unknown): Promise<void> {
    let running = true;
    const client = async (_: unknown, number: number) => {
      for (let n = 0; running; n++) {
        const json = n % 2 === 0 ? { keys: [`visitor-${number}-${n}`] } : {};
        const request = { key: this.target.secretKey, json };
        const answer = await this.target.send("POST", `/v1/models/${model}/recommendations`, request);
        this.check(`a recommendation during ${what}`, soundness(answer));
        const impressionId = /"impressionId":"([\w-]+)"/.exec(answer.text)?.[1];
        if (impressionId) await take(impressionId);
      }
    };
    const clients = Array.from({ length: CLIENTS }, client);
    await change();
    running = false;
    await Promise.all(clients);
  }
}
