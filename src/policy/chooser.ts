import { boundedNumbers, copyVector, finiteNumber, finiteVector, flag, matrix, outOfRange, wholeNumber, wrongType } from "../argument.ts";
import { UnsupportedError } from "../errors.ts";
import type { Families } from "../model/families.ts";
import { best, type ChanceOf, type KnownScores, rowsAt, type Scores } from "../model/ranking.ts";
import type { PolicyContext, Rule, ScoreRequest } from "./rule.ts";

/** Samples per decision, at most. More would fill the memory for a precision that nothing needs. */
const DRAWS_LIMIT = 10_000;

/** An action to choose among. */
export interface Candidate {
  readonly id?: string;
  /** `dimension` numbers. */
  readonly features?: ArrayLike<number>;
}

/** A request to choose. It changes no state. */
export interface ChooseRequest {
  /** Absent for a policy with its own domain. */
  readonly candidates?: readonly Candidate[];
  /** The features alone, instead of candidates: k x `dimension`, row-major, not copied. Ids are then the indices of rows. */
  readonly points?: Float64Array;
  readonly round: number;
  readonly now?: number;
  /** Places to rank, default 1. */
  readonly limit?: number;
  /**
   * For a Thompson policy: number of samples, of which the decision takes one at random. All decisions until the next impression
   * share them, and `probability` is exact. Default 0: the decision draws a sample of its own. Other policies ignore this.
   */
  readonly draws?: number;
  /**
   * Ranks by posterior mean, without exploring. The score is then the mean. Policies that have no means ("uniform"), or that choose
   * one point at a time, ignore this.
   */
  readonly greedy?: boolean;
  /**
   * Least probability of each candidate at each place, default 0. With `count` times this probability, the decision ranks uniformly
   * at random. `probability` is then known if the policy is deterministic or knows its own.
   */
  readonly minimumShare?: number;
  /**
   * Made by `families`. Bounds the candidates of a family in the list: each place takes the next candidate whose family still has room. Default: no bounds.
   * `probability` is that of the bounded list. A random order is bounded alike, so `minimumShare` then holds for the first place.
   */
  readonly families?: Families;
  /** Replace the generator's draws. With `draws` the normals belong to the trial and cannot be replaced. */
  readonly normals?: ArrayLike<number>;
  readonly uniforms?: ArrayLike<number>;
  /** Name of the decision, which seeds its random draws. Default: its round. */
  readonly decision?: string;
}

/** The choice for one place of the ranking. */
export interface Choice {
  /** Index in the list of candidates, or in the policy's own domain. */
  readonly index: number;
  readonly id: string;
  readonly score: number;
  /** Posterior mean of the reward. It may be outside the range of rewards: `Policy.stated` is the number to show to people. */
  readonly mean: number;
  /** The bonus: a multiplier times the posterior standard deviation. */
  readonly width: number;
  /**
   * Probability of this action at this place, over all random draws of the decision: not given what the places before show. Absent if
   * the policy does not know it.
   */
  readonly probability?: number;
  /** The chosen point, if the policy has its own domain. */
  readonly features?: Float64Array;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The part of a request that decides whether its list is random. */
export type RandomRequest = Pick<ChooseRequest, "round" | "decision" | "minimumShare" | "families">;

/** A share of the probability that a random order has. */
type RandomShare = (share: number, index: number, place: number) => number;

/** Probability that a decision ranks at random, and the random order if this decision does. */
interface Shares {
  readonly uniform: number;
  readonly order?: readonly number[];
}

const NO_SHARES: Shares = { uniform: 0 };
const NO_POINTS = /* @__PURE__ */ new Float64Array(0);

/** Chooses by the scores of a rule: the part of a decision that all algorithms share. It changes no state. */
export class Chooser {
  /** Name of the policy, for errors. */
  readonly #id: string;
  readonly #rule: Rule;
  readonly #context: PolicyContext;
  readonly #impressions: () => number;

  /** `impressions`: those that the policy has counted so far. */
  constructor(id: string, rule: Rule, context: PolicyContext, impressions: () => number) {
    this.#id = id;
    this.#rule = rule;
    this.#context = context;
    this.#impressions = impressions;
  }

  /** As `Policy.choose`. */
  choose(request: ChooseRequest): Choice[] {
    const limit = wholeNumber("limit", request.limit ?? 1, 1);
    checkDraws(request);
    return this.#rule.propose ? this.#propose(request, limit) : this.#rank(request, limit);
  }

  /** As `Policy.chances`. */
  chances(request: ChooseRequest): Float64Array {
    const { count, chance } = this.#chance(request, 1);
    return Float64Array.from({ length: count }, (_, index) => chance(index, 0));
  }

  /** As `Policy.placeChances`. */
  placeChances(request: ChooseRequest, indices: readonly number[]): Float64Array {
    const { count, places, chance } = this.#chance(request, wholeNumber("limit", request.limit ?? 1, 1));
    const chances = new Float64Array(indices.length * places);
    for (let i = 0; i < indices.length; i++) {
      const index = wholeNumber(`indices[${i}]`, indices[i], 0, count - 1);
      for (let place = 0; place < places; place++) chances[i * places + place] = chance(index, place);
    }
    return chances;
  }

  /** The probability of each candidate at each place. @throws {UnsupportedError} code `no-probability`. */
  #chance(request: ChooseRequest, limit: number) {
    if (this.#rule.propose) throw new UnsupportedError("no-probability", `${this.#id} does not choose among candidates`);
    checkDraws(request);
    const { count, own, shares, known, random } = this.#scored(request, limit);
    const free = known ?? (this.#rule.deterministic ? (index: number, place: number) => Number(own[place] === index) : undefined);
    if (!free && shares.uniform < 1) {
      throw new UnsupportedError("no-probability", `${this.#id} does not know its probabilities without draws`);
    }
    return { count, places: own.length, chance: mixed(shares.uniform, random, free) };
  }

  /** The request to the rule. It is built as one object: copies of it would take as long as a decision among few candidates. */
  #asked(request: ChooseRequest, points: Float64Array, count: number): ScoreRequest {
    const { round, now, draws = 0, normals, uniforms } = request;
    const { core, seed } = this.#context;
    const trial = this.#impressions() + 1;
    const decision = () => request.decision ?? `round ${round}`;
    return {
      points,
      count,
      trial,
      round,
      now,
      draws,
      normals(count) {
        if (normals) return finiteVector("normals", normals, count);
        return core.normals(seed, draws > 0 ? `trial ${trial}` : decision(), count);
      },
      uniforms: (count) => (uniforms ? finiteVector("uniforms", uniforms, count) : core.uniforms(seed, decision(), count)),
    };
  }

  #propose(request: ChooseRequest, limit: number): Choice[] {
    this.#refuseCandidates(request);
    if (request.minimumShare) throw outOfRange("minimumShare", `0, as ${this.#id} chooses in its own domain`, request.minimumShare);
    if (limit > 1) throw outOfRange("limit", `1, as ${this.#id} chooses one point at a time`, limit);
    const proposal = (this.#rule as Required<Rule>).propose(this.#asked(request, NO_POINTS, 0));
    return [{ ...proposal, id: String(proposal.index) }];
  }

  #refuseCandidates({ candidates, points }: ChooseRequest): void {
    if (candidates !== undefined) throw wrongType("candidates", `none, as this ${this.#id} has its own domain`, candidates);
    if (points !== undefined) throw wrongType("points", `none, as this ${this.#id} has its own domain`, points);
  }

  #rank(request: ChooseRequest, limit: number): Choice[] {
    const { domain, score, ranked, shares, known, random, momentsOf } = this.#scored(request, limit, { shownOnly: true });
    const { candidates } = request;
    const chance = known || shares.uniform === 1 ? mixed(shares.uniform, random, known) : undefined;
    const moments = momentsOf?.(ranked);
    return ranked.map((index, place) => {
      const [mean, width] = [moments?.mean[place] ?? 0, moments?.width[place] ?? 0];
      const choice: Writable<Choice> = { index, id: candidates?.[index].id ?? String(index), score: score[index], mean, width };
      if (domain) choice.features = domain.at(index);
      if (chance) choice.probability = chance(index, place);
      return choice;
    });
  }

  /**
   * The candidates' scores, the ranking by them, the list that is shown, and its probabilities as far as they are known. `shownOnly`: no other
   * candidate's are asked for.
   */
  #scored(request: ChooseRequest, limit: number, { shownOnly = false } = {}) {
    const { domain, score: rule } = this.#rule as Required<Rule>;
    if (domain) this.#refuseCandidates(request);
    const points = domain?.points ?? this.#points(request);
    const count = domain?.count ?? request.candidates?.length ?? points.length / this.#rule.dimension;
    const asked = this.#asked(request, points, count);
    const scores = request.greedy ? this.#byMeans(asked) : rule(asked);
    const { score, moments } = scores;
    const greedy = request.greedy === true && moments !== undefined;
    const { families } = request;
    if (families && families.count !== count) throw outOfRange("families", `those of ${count} candidates`, families.count);
    const own = families ? families.best(score, limit) : best(score, limit);
    const shares = this.#shares(request, count, own.length);
    const certain = greedy || (shares.uniform > 0 && this.#rule.deterministic);
    const free = families ? scores.rankings && families.chances(scores.rankings, own.length) : scores.probability;
    const known: ChanceOf | undefined = certain ? (index, place) => Number(own[place] === index) : free;
    const ranked = shares.order ?? own;
    const inAnyOrder = families?.randomChances(own.length, shownOnly ? ranked : undefined);
    const random: RandomShare = inAnyOrder ? (share, ...at) => share * inAnyOrder(...at) : (share) => share / count;
    return { domain, count, score, own, ranked, shares, known, random, momentsOf: moments };
  }

  /** Scores that are the means, or those of the rule if it knows no means. */
  #byMeans(asked: ScoreRequest): Scores {
    const { score: rule, means, dimension } = this.#rule as Required<Rule>;
    if (means) {
      // Bonuses of the shown candidates alone.
      const moments = (indices: readonly number[]) => {
        const shown = { ...asked, points: rowsAt(asked.points, dimension, indices), count: indices.length, draws: 0 };
        return (rule(shown) as KnownScores).moments(indices.map((_, place) => place));
      };
      return { score: means(asked.points), moments };
    }
    const scores = rule(asked);
    const { moments } = scores;
    // Copied, because the next call for moments may overwrite the means.
    return moments ? { score: Float64Array.from(moments(Array.from({ length: asked.count }, (_, index) => index)).mean), moments } : scores;
  }

  /** As `Policy.ranksAtRandom`. */
  ranksAtRandom(request: RandomRequest, count: number): boolean {
    return this.#shares(request, wholeNumber("count", count, 1), 0).order !== undefined;
  }

  #shares({ minimumShare = 0, round, decision, families }: RandomRequest, count: number, places: number): Shares {
    const uniform = Math.min(1, count * finiteNumber("minimumShare", minimumShare, 0, 1));
    if (uniform === 0) return NO_SHARES;
    const { core, seed } = this.#context;
    const [chance, ...picks] = core.uniforms(seed, `share ${decision ?? `round ${round}`}`, 1 + places);
    if (chance >= uniform) return { uniform };
    if (families) return { uniform, order: families.random(picks) };
    const order = Array.from({ length: count }, (_, index) => index);
    picks.forEach((pick, place) => {
      const from = place + Math.min(Math.floor(pick * (count - place)), count - place - 1);
      [order[place], order[from]] = [order[from], order[place]];
    });
    return { uniform, order: order.slice(0, places) };
  }

  #points({ candidates, points }: ChooseRequest): Float64Array {
    if (points === undefined) return this.flatten(candidates);
    if (candidates !== undefined) throw outOfRange("points", "none beside candidates", points);
    if (this.#rule.dimension === 0) throw wrongType("points", `candidates instead, as ${this.#id} looks at no features`, points);
    return boundedNumbers("points", matrix("points", points, this.#rule.dimension));
  }

  /** The features of candidates: k x dimension, row-major. */
  flatten(candidates: readonly Candidate[] | undefined): Float64Array {
    if (!Array.isArray(candidates)) throw wrongType("candidates", "an array", candidates);
    if (candidates.length === 0) throw new RangeError("candidates: expected at least one, got none");
    const d = this.#rule.dimension;
    const points = new Float64Array(candidates.length * d);
    for (let i = 0; i < candidates.length; i++) {
      if (candidates[i] === null || typeof candidates[i] !== "object") throw wrongType(`candidates[${i}]`, "an object", candidates[i]);
      if (d > 0) copyVector(`candidates[${i}].features`, candidates[i].features, d, points, i * d);
    }
    return points;
  }
}

/** Checks the options that govern random draws. @throws {TypeError | RangeError} naming the option. */
function checkDraws({ greedy = false, draws = 0, normals, round }: ChooseRequest): void {
  flag("greedy", greedy);
  wholeNumber("draws", draws, 0, DRAWS_LIMIT);
  if (draws > 0 && normals) throw outOfRange("normals", "none with draws, whose normals belong to the trial", normals);
  wholeNumber("round", round, 1);
}

/** Chances if with probability `uniform` those of a `random` order hold, and `free` otherwise. */
function mixed(uniform: number, random: RandomShare, free: ChanceOf = () => 0): ChanceOf {
  if (uniform === 0) return free;
  return (index, place) => random(uniform, index, place) + (1 - uniform) * free(index, place);
}
