// One phase of DLPP: balls of one radius take turns, and poor ones are cut off.

import { outOfRange } from "../../values/argument.ts";
import { counted, malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { AppendedPoint } from "../posterior.ts";
import type { Ball, BallArms } from "./ball-arms.ts";

export interface BallPhaseOptions {
  /** Rewards that a ball of radius 1 needs. A ball of radius r needs this over r^2 (v_m), and at least one. */
  readonly rewards: number;
  /** A ball is pruned if its mean is this many radii below the best mean. */
  readonly pruneMultiplier: number;
  /** Whether a ball ignores rewards beyond those it needs. */
  readonly freeze: boolean;
}

/** A slot is this times the phase, plus the number of the ball. */
const PHASE_SLOTS = 0x100000000;

/** Balls of radius 2^-40 are not divided. The survivors then take turns for ever. */
const MAX_DEPTH = 40;
/**
 * Balls are not divided either if there might be more than this. A ball takes up to half a kilobyte while a phase ends, so all of
 * them take half of the memory that the worker allows a model.
 */
const MAX_BALLS = 65_536;

/** A phase of pruning: balls of one radius, which take turns until each of them has the rewards it needs. */
export class BallPhase {
  /** m, from 1. */
  readonly phase: number;
  readonly radius: number;
  readonly arms: BallArms;
  readonly #options: BallPhaseOptions;
  readonly #depth: number;
  /** v_m. Infinite in the last phase. */
  readonly #needed: number;
  /** balls x d, in the unit cube. */
  readonly #centres: Float64Array;
  readonly #pulls: Float64Array;
  readonly #observed: Float64Array;
  readonly #sums: Float64Array;
  /** The ball after the last one pulled in turn. */
  #turn = 0;
  /** Balls that lack rewards. */
  #open: number;

  private constructor(options: BallPhaseOptions, arms: BallArms, shape: { phase: number; depth: number; centres: Float64Array }) {
    const { phase, depth, centres } = shape;
    const balls = centres.length / arms.dimension;
    let radius = 1;
    for (let m = 0; m < depth; m++) radius /= 2;
    this.phase = phase;
    this.radius = radius;
    this.arms = arms;
    this.#options = options;
    this.#depth = depth;
    // The depth is the number of the phase, except in the last phase, which keeps the balls of the phase before it.
    this.#needed = depth < phase ? Number.POSITIVE_INFINITY : Math.max(options.rewards / (radius * radius), 1);
    this.#centres = centres;
    this.#pulls = new Float64Array(balls);
    this.#observed = new Float64Array(balls);
    this.#sums = new Float64Array(balls);
    this.#open = balls;
  }

  /** The phase with one ball around all arms. */
  static first(options: BallPhaseOptions, arms: BallArms): BallPhase {
    return new BallPhase(options, arms, { phase: 1, depth: 1, centres: new Float64Array(arms.dimension).fill(1 / 2) });
  }

  get #balls(): number {
    return this.#observed.length;
  }

  /** Whether every ball has its rewards. */
  get complete(): boolean {
    return this.#open === 0;
  }

  /** The next ball in turn: each pass visits the balls that lack rewards, in order. */
  get next(): Ball {
    let number = this.#turn;
    while (this.#observed[number] >= this.#needed) number = (number + 1) % this.#balls;
    return this.#ball(number);
  }

  #ball(number: number): Ball {
    const d = this.arms.dimension;
    return { number, centre: this.#centres.subarray(number * d, (number + 1) * d), radius: this.radius };
  }

  /** Mean reward of a ball, 0 without rewards. */
  mean(number: number): number {
    return this.#observed[number] === 0 ? 0 : this.#sums[number] / this.#observed[number];
  }

  /**
   * Pulls an arm for the next ball in turn, if that ball holds the arm, and otherwise for the first ball that holds it. Returns the
   * slot, or -1 if no ball holds the arm.
   */
  append(features: Float64Array): number {
    const { next } = this;
    const inTurn = this.arms.holds(next, features);
    const number = inTurn ? next.number : this.#observed.findIndex((_, each) => this.arms.holds(this.#ball(each), features));
    if (number < 0) return -1;
    if (inTurn) this.#turn = (number + 1) % this.#balls;
    this.#pulls[number]++;
    return this.phase * PHASE_SLOTS + number;
  }

  /**
   * Counts a reward, unless it belongs to an older phase.
   * @throws {RangeError} for a first reward if the ball has one for every pull.
   */
  observe({ slot }: AppendedPoint, reward: number, previous: number | undefined): void {
    if (slot < this.phase * PHASE_SLOTS) return;
    const number = slot - this.phase * PHASE_SLOTS;
    if (!(this.#pulls[number] > 0)) throw outOfRange("impression.slot", "a slot that append returned", slot);
    const finished = this.#observed[number] >= this.#needed;
    if (finished && this.#options.freeze) return;
    if (previous !== undefined) {
      this.#sums[number] += reward - previous;
      return;
    }
    const pulls = this.#pulls[number];
    if (this.#observed[number] >= pulls) {
      throw outOfRange("impression.slot", `the slot of a pull without a reward (its ball has one for each of ${pulls} pulls)`, slot);
    }
    this.#observed[number]++;
    this.#sums[number] += reward;
    if (!finished && this.#observed[number] >= this.#needed) this.#open--;
  }

  /** The next phase: the balls that survive pruning, divided. */
  divided(): BallPhase {
    const best = this.#observed.reduce((top, _, number) => Math.max(top, this.mean(number)), Number.NEGATIVE_INFINITY);
    // Not 0, so that the best ball survives.
    const margin = Math.max(this.#options.pruneMultiplier * this.radius, Number.MIN_VALUE);
    const survivors: Ball[] = [];
    for (let number = 0; number < this.#balls; number++) {
      if (best - this.mean(number) < margin) survivors.push(this.#ball(number));
    }
    const whole = this.phase === MAX_DEPTH || survivors.length * this.arms.branching > MAX_BALLS;
    const { arms, children } = this.arms.divided(survivors, whole);
    const offset = whole ? 0 : this.radius / 2;
    const centres = survivors.flatMap(({ centre }, i) => children[i].flatMap((child) => childCentre(centre, child, offset)));
    const depth = this.phase + Number(!whole);
    return new BallPhase(this.#options, arms, { phase: this.phase + 1, depth, centres: Float64Array.from(centres) });
  }

  /** The phase, and for each ball its centre, the number of its rewards and their sum. */
  statistics(): Float64Array {
    const d = this.arms.dimension;
    const statistics = new Float64Array(1 + this.#balls * (d + 2));
    statistics[0] = this.phase;
    for (let number = 0; number < this.#balls; number++) {
      const row = statistics.subarray(1 + number * (d + 2));
      row.set(this.#ball(number).centre);
      row[d] = this.#observed[number];
      row[d + 1] = this.#sums[number];
    }
    return statistics;
  }

  save(writer: SnapshotWriter): void {
    writer.numbers([this.phase, this.#depth, this.#turn], this.#centres, this.#pulls, this.#observed, this.#sums);
    this.arms.save(writer);
  }

  /** Restores a saved phase. `arms`: those of the first phase. */
  static load(reader: SnapshotReader, options: BallPhaseOptions, arms: BallArms): BallPhase {
    const [phase, depth, turn] = reader.numbers(3);
    counted("depth", depth, MAX_DEPTH, 1);
    if (phase !== depth && phase !== depth + 1) throw malformed();
    const centres = reader.numbers();
    const balls = counted("balls", centres.length / arms.dimension, undefined, 1);
    counted("turn", turn, balls - 1);
    const loaded = new BallPhase(options, arms, { phase, depth, centres });
    if (centres.some((coordinate) => !(coordinate - loaded.radius >= 0 && coordinate + loaded.radius <= 1))) throw malformed();
    for (const column of [loaded.#pulls, loaded.#observed, loaded.#sums]) column.set(reader.numbers(balls));
    loaded.#observed.forEach((observed, number) => void counted("observed", observed, counted("pulls", loaded.#pulls[number])));
    loaded.#turn = turn;
    loaded.#open = loaded.#observed.reduce((open, observed) => open + Number(observed < loaded.#needed), 0);
    arms.load(reader, balls);
    return loaded;
  }
}

function childCentre(centre: Float64Array, child: number, offset: number): number[] {
  let rest = child;
  return Array.from(centre, (coordinate) => {
    const upper = rest % 2 === 1;
    rest = Math.floor(rest / 2);
    return upper ? coordinate + offset : coordinate - offset;
  });
}
