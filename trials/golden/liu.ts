// Golden cases of Liu et al. 2025: Delayed Zooming event by event, DLPP phase by phase.
import { delayedZooming, dlpp, type Policy, type PolicyDescriptor } from "afterclick";
import type { AppendedImpression, Choice } from "afterclick/research";
import { type Case, close, equal, type Json, labelled, started } from "./case.ts";

const TOLERANCE = 1e-12;

/** The expected reward of the files, in one dimension and in two. */
function expected([x, y]: ArrayLike<number> & Iterable<number>): number {
  if (y === undefined) return 0.8 - 0.9 * Math.abs(x - 0.4);
  return 1 - 0.7 * Math.hypot(x - 0.7, y - 0.8) - 0.4 * Math.hypot(x, y - 0.1);
}

const unitBox = (dimension: number) => ({ box: Array.from({ length: dimension }, (): [number, number] => [0, 1]) });

/** Checks that run while a case is played. */
interface Check {
  chosen(t: number, choice: Choice): void;
  appended(t: number, choice: Choice): void;
  /** Called when the reward of round s arrives after round t. */
  observed?(t: number, s: number): void;
  /** Called after all rewards of round t have been observed. */
  delivered?(t: number): void;
}

/** Plays a case. In both files the reward of round s with delay D arrives after round s + D. Zooming's events count it in the next round. */
async function play({ T, delays, noise, unif }: Json, descriptor: PolicyDescriptor, check: (policy: Policy) => Check): Promise<void> {
  const policy = await started(descriptor);
  const checks = check(policy);
  const due: number[][] = Array.from({ length: T + 1 }, () => []);
  (delays as number[]).forEach((delay, i) => void due[i + 1 + delay]?.push(i));
  const played: { impression: AppendedImpression; reward: number }[] = [];
  for (let t = 1; t <= T; t++) {
    const [choice] = policy.choose({ round: t, uniforms: unif?.[t - 1] });
    const features = choice.features as Float64Array;
    checks.chosen(t, choice);
    played.push({ impression: policy.append({ round: t, features }), reward: expected(features) + noise[t - 1] });
    checks.appended(t, choice);
    for (const i of due[t]) {
      policy.observe(played[i]);
      checks.observed?.(t, i + 1);
    }
    checks.delivered?.(t);
  }
}

export function zoomingCases({ cases }: Json): Case[] {
  return labelled(cases, async (c) => {
    const { T: horizon, sigma, delta, vs_min: lazyFloor, lazy, grid_points_per_axis: resolution } = c;
    const unobserved = ({ inf: "first", 0: "zero" } as const)[c.unobserved_mean as "inf" | 0];
    if (!unobserved) throw new Error(`unknown mean ${c.unobserved_mean} of an unobserved arm`);
    const options = { domain: unitBox(c.dim), horizon, sigma, delta, lazyFloor, lazy, unobserved, resolution } as const;
    await play(c, delayedZooming(options), (policy) => new ZoomingCheck(policy, c));
  });
}

interface Rewards {
  readonly observed: number;
  readonly sum: number;
}

const meanOf = ({ sum, observed }: Rewards): number => (observed ? sum / observed : 0);

interface ArmState extends Rewards {
  readonly cached: number;
}

/** Derives events from changes of the policy's sums and compares them with the file's events. */
class ZoomingCheck implements Check {
  readonly #policy: Policy;
  readonly #case: Json;
  // Places in the grid, in order of activation.
  readonly #places: number[] = [];
  readonly #coordinates: number[][] = [];
  readonly #chosen: number[] = [];
  #before = new Map<number, ArmState>();
  #event = 0;
  #widest = 0;

  constructor(policy: Policy, file: Json) {
    this.#policy = policy;
    this.#case = file;
  }

  #arms(): Map<number, ArmState> {
    const sums = this.#policy.statistics();
    const arms = new Map<number, ArmState>();
    for (let i = 0; i < sums.length; i += 5) arms.set(sums[i], { observed: sums[i + 1], sum: sums[i + 2], cached: sums[i + 3] });
    return arms;
  }

  #expectEvent(...event: [t: number, kind: string, arm: number, extra: number]): void {
    equal(`event ${this.#event}`, event.join(), this.#case.events[this.#event++]?.join());
  }

  chosen(t: number, { index, features, mean, width }: Choice): void {
    if (!this.#before.has(index)) {
      this.#expectEvent(t, "A", this.#places.push(index) - 1, index);
      this.#coordinates.push(Array.from(features as Float64Array));
      this.#widest ||= width / 2;
    }
    const arm = this.#places.indexOf(index);
    this.#chosen.push(arm);
    equal(`choice of round ${t}`, arm, this.#case.choices[t - 1]);
    const { observed, sum } = this.#before.get(index) ?? { observed: 0, sum: 0 };
    close(`mean of round ${t}`, mean, meanOf({ sum, observed }), TOLERANCE);
    close(`radius of round ${t}`, width / 2, this.#widest / Math.sqrt(1 + observed), TOLERANCE);
  }

  appended(t: number, { index }: Choice): void {
    const { cached = 0 } = this.#before.get(index) ?? {};
    this.#before = this.#arms();
    if (cached > 0) this.#expectEvent(t, "F", this.#places.indexOf(index), cached);
    if (t === this.#case.T) this.#checkEnd();
  }

  observed(t: number, s: number): void {
    const place = this.#places[this.#chosen[s - 1]];
    const before = this.#before.get(place) as ArmState;
    this.#before = this.#arms();
    const after = this.#before.get(place) as ArmState;
    // The file has no events after the last round.
    if (t < this.#case.T) this.#expectEvent(t + 1, after.cached > before.cached ? "C" : "U", this.#chosen[s - 1], s);
  }

  #checkEnd(): void {
    const { arms, v, mean, radius, still_cached: cached, events } = this.#case;
    const states = this.#places.map((place) => this.#before.get(place) as ArmState);
    close("arms", this.#coordinates.flat(), arms.flat(), 0);
    equal("v", states.map(({ observed }) => observed).join(), v.join());
    equal("still cached", states.map((each) => each.cached).join(), cached.join());
    close("mean", states.map(meanOf), mean.map(Number), TOLERANCE);
    const radii = states.map(({ observed }) => this.#widest / Math.sqrt(1 + observed));
    close("radius", radii, radius, TOLERANCE);
    equal("events", this.#event, events.length);
    for (const [kind, count] of Object.entries(this.#case.event_counts)) {
      equal(`events ${kind}`, events.filter((event: Json) => event[1] === kind).length, count);
    }
  }
}

export function dlppCases({ cases }: Json): Case[] {
  return labelled(cases, async (c) => {
    const { T: horizon, sigma, delta, prune_multiplier: pruneMultiplier, freeze } = c;
    const options = { domain: unitBox(c.dim), horizon, sigma, delta, pruneMultiplier, freeze };
    await play(c, dlpp(options), (policy) => new DlppCheck(policy, c));
  });
}

interface BallState extends Rewards {
  readonly centre: number[];
}

/** Compares the balls of each phase, read from the policy's sums, with the file. */
class DlppCheck implements Check {
  readonly #policy: Policy;
  readonly #case: Json;
  #phase = 0;
  #margin = Number.POSITIVE_INFINITY;
  #balls: BallState[] = [];

  constructor(policy: Policy, file: Json) {
    this.#policy = policy;
    this.#case = file;
  }

  #look(): { phase: number; balls: BallState[] } {
    const [phase, ...sums] = this.#policy.statistics();
    const row = this.#case.dim + 2;
    const balls = Array.from({ length: sums.length / row }, (_, ball) => {
      const numbers = sums.slice(ball * row, (ball + 1) * row);
      return { centre: numbers.slice(0, -2), observed: numbers.at(-2) as number, sum: numbers.at(-1) as number };
    });
    return { phase, balls };
  }

  chosen(t: number, { index, width }: Choice): void {
    // Before the first append the policy's sums show one ball without rewards.
    const { phase, balls } = this.#look();
    const { vm } = this.#case.phases[phase - 1];
    if (phase === this.#case.phase_per_round[t - 1])
      equal(`ball of round ${t} lacks rewards`, balls[index].observed < Math.max(vm, 1), true);
    equal(`ball of round ${t}`, index, this.#case.ball_per_round[t - 1]);
    equal(`radius of round ${t}`, width, 1 / 2 ** this.#case.phase_per_round[t - 1]);
  }

  appended(t: number): void {
    const { phase, balls } = this.#look();
    equal(`phase of round ${t}`, phase, this.#case.phase_per_round[t - 1]);
    if (phase > this.#phase) equal(`start of phase ${phase}`, t, this.#case.phases[phase - 1].start);
    if (phase > 1 && phase > this.#phase) this.#checkSurvivors(phase - 1, balls);
    this.#phase = phase;
    this.#balls = balls;
  }

  delivered(t: number): void {
    const expected = this.#case.phases.find((each: Json) => each.end === t);
    if (!expected) return;
    const { phase, balls } = this.#look();
    const what = `of phase ${expected.phase}`;
    equal("phase", phase, expected.phase);
    const complete = balls.every(({ observed }) => observed >= expected.vm);
    equal(`whether all balls ${what} have their rewards`, complete, expected.complete);
    if (expected.complete) this.#measure(phase, balls);
    if (t === this.#case.T) close("smallest distance to the pruning threshold", this.#margin, this.#case.min_prune_margin, TOLERANCE);
    equal(`number of balls ${what}`, balls.length, expected.balls.length);
    const centres = balls.flatMap(({ centre }) => centre);
    close(`balls ${what}`, centres, expected.balls.flat(), 0);
    equal(`v ${what}`, balls.map(({ observed }) => observed).join(), expected.v.join());
    close(`mean ${what}`, balls.map(meanOf), expected.mean.map(Number), TOLERANCE);
  }

  /** Keeps the smallest distance of a ball to the pruning threshold. */
  #measure(phase: number, balls: BallState[]): void {
    const means = balls.map(({ sum, observed }) => sum / observed);
    for (const mean of means) {
      const distance = Math.max(...means) - mean - this.#case.prune_multiplier / 2 ** phase;
      this.#margin = Math.min(this.#margin, Math.abs(distance));
    }
  }

  /** Finds the parents of the balls. Children of one ball are adjacent, and the middle of their corners is its centre. */
  #checkSurvivors(phase: number, children: BallState[]): void {
    const families = 2 ** this.#case.dim;
    const survivors: number[] = [];
    for (let first = 0; first < children.length; first += families) {
      const [low, high] = [children[first].centre, children[first + families - 1].centre];
      survivors.push(this.#balls.findIndex(({ centre }) => centre.every((x, j) => x === (low[j] + high[j]) / 2)));
    }
    equal(`survivors of phase ${phase}`, survivors.join(), this.#case.phases[phase - 1].survivors.join());
  }
}
