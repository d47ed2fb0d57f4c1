// Several policies in one problem, with the same luck for all. It knows no page and no clock.

import type { DelayLaw } from "../../src/simulation/delay-law.ts";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { contenders } from "./contender.ts";
import { delays } from "./delay.ts";
import { Player, type PlayerPosterior } from "./player.ts";
import { type Problem, problemOf } from "./problem.ts";
import type { Settings } from "./settings.ts";

/** Sampled rounds of a chart, at most about this many. */
const SAMPLES = 300;

/** Quantities that are followed over the rounds, see `Player`. */
const followed = ["regret", "pending", "counted", "late"] as const;
type Followed = (typeof followed)[number];

/** One policy's results so far. `choices` and `estimate` have one number per place; the others have one per sampled round. */
export interface PlayerReport extends Readonly<Record<Followed, readonly number[]>> {
  readonly name: string;
  readonly choices: Uint32Array;
  readonly estimate: PlayerPosterior | null;
  /** Digest of the policy's state. */
  readonly digest: string;
}

/** The results of a match so far. */
export interface MatchReport {
  readonly round: number;
  readonly rounds: number;
  /** The rounds after which the numbers were taken. */
  readonly sampled: readonly number[];
  readonly truth: readonly number[];
  readonly players: readonly PlayerReport[];
}

interface Seat extends Readonly<Record<Followed, number[]>> {
  readonly name: string;
  readonly player: Player;
}

/** Several policies on one problem. All get the same candidates, the same random outcomes and the same delays. */
export class Match {
  #round = 0;
  readonly #settings: Settings;
  readonly #problem: Problem;
  readonly #seats: readonly Seat[];
  readonly #law: DelayLaw;
  readonly #lots: Stream;
  readonly #delays: Stream;
  readonly #sampled: number[] = [];
  /** Rounds of impressions, by the round at whose end their outcomes arrive. */
  readonly #due = new Map<number, number[]>();

  private constructor(settings: Settings, problem: Problem, seats: readonly Seat[]) {
    this.#settings = settings;
    this.#problem = problem;
    this.#seats = seats;
    this.#law = delays[settings.delay].law(settings.typical);
    this.#lots = stream("lots", settings.seed);
    this.#delays = stream("delays", settings.seed);
    this.#sample();
  }

  static async create(settings: Settings): Promise<Match> {
    const { problem: id, seed, window, rounds: horizon, typical } = settings;
    const problem = await problemOf(id, seed);
    const seats = settings.policies.map(async (each): Promise<Seat> => {
      const { name, policy, waits = false } = contenders[id][each];
      const delay = settings.delay === "none" ? 0 : typical;
      const player = await Player.create({ policy: policy({ horizon, delay }), window, seed, waits, problem });
      return { name, player, regret: [], pending: [], counted: [], late: [] };
    });
    return new Match(settings, problem, await Promise.all(seats));
  }

  get done(): boolean {
    return this.#round === this.#settings.rounds;
  }

  /** Plays a round: every policy chooses, then the due outcomes arrive. */
  step(): void {
    const { rounds } = this.#settings;
    const round = ++this.#round;
    const scene = this.#problem.scene();
    const lot = this.#lots();
    for (const { player } of this.#seats) player.decide(round, scene, lot);
    const due = round + this.#law.draw(this.#delays);
    if (due <= rounds) this.#due.set(due, [...(this.#due.get(due) ?? []), round]);
    for (const shown of this.#due.get(round) ?? []) {
      for (const { player } of this.#seats) player.arrive(shown);
    }
    this.#due.delete(round);
    if (round % Math.ceil(rounds / SAMPLES) === 0 || round === rounds) this.#sample();
  }

  #sample(): void {
    this.#sampled.push(this.#round);
    for (const seat of this.#seats) for (const name of followed) seat[name].push(seat.player[name]);
  }

  report(): MatchReport {
    return {
      round: this.#round,
      rounds: this.#settings.rounds,
      sampled: this.#sampled,
      truth: this.#problem.truth,
      players: this.#seats.map(({ player, ...seat }) => ({
        ...seat,
        choices: player.choices,
        estimate: player.estimate(),
        digest: player.digest,
      })),
    };
  }
}
