// Makes a ranking of a rule's scores. It changes no state, so a decision can be made again.

import { areEncoded } from "../encoding/points.ts";
import { type Ranked, rankedBy } from "../model/candidates.ts";
import { parseNow } from "../model/delay/window.ts";
import type { ChanceOf } from "../model/ranking.ts";
import { boundedNumbers, copyVector, finiteNumber, flag, matrix, outOfRange, wholeNumber, wrongType } from "../values/argument.ts";
import { UnsupportedError } from "../values/errors.ts";
import type { Candidate, ChooseRequest } from "./choose-request.ts";
import { DecisionRequest, type Given } from "./decision-request.ts";
import type { PolicyContext, Rule, ScoreRequest } from "./rule.ts";

/** Samples per decision, at most. More would fill the memory for a precision that nothing needs. */
export const DRAWS_LIMIT = 10_000;

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
    check(request);
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
    check(request);
    const { count, own, shares, known, random } = this.#scored(request, limit);
    const free = known ?? (this.#rule.deterministic ? (index: number, place: number) => Number(own[place] === index) : undefined);
    if (!free && shares.uniform < 1) {
      throw new UnsupportedError("no-probability", `${this.#id} does not know its probabilities without draws`);
    }
    return { count, places: own.length, chance: mixed(shares.uniform, random, free) };
  }

  #propose(request: ChooseRequest, limit: number): Choice[] {
    this.#refuseCandidates(request);
    if (request.minimumShare) throw outOfRange("minimumShare", `0, as ${this.#id} chooses in its own domain`, request.minimumShare);
    if (limit > 1) throw outOfRange("limit", `1, as ${this.#id} chooses one point at a time`, limit);
    const proposal = (this.#rule as Required<Rule>).propose(
      new DecisionRequest(request, ofFeatures(NO_POINTS, 0, 0), limit, this.#impressions() + 1, this.#context),
    );
    return [{ ...proposal, id: String(proposal.index) }];
  }

  #refuseCandidates({ candidates, points, boosts }: ChooseRequest): void {
    if (candidates !== undefined) throw wrongType("candidates", `none, as this ${this.#id} has its own domain`, candidates);
    if (points !== undefined) throw wrongType("points", `none, as this ${this.#id} has its own domain`, points);
    if (boosts !== undefined) throw wrongType("boosts", `none, as this ${this.#id} has its own domain`, boosts);
  }

  #rank(request: ChooseRequest, limit: number): Choice[] {
    const { domain, shown, ranked, shares, known, random, momentsOf } = this.#scored(request, limit, true);
    const { candidates } = request;
    const chance = known || shares.uniform === 1 ? mixed(shares.uniform, random, known) : undefined;
    const scores = ranked.scores(shown);
    const moments = momentsOf?.(shown);
    const choices = new Array<Choice>(shown.length);
    for (let place = 0; place < shown.length; place++) {
      const index = shown[place];
      const choice: Writable<Choice> = {
        index,
        id: candidates?.[index].id ?? String(index),
        score: scores[place],
        mean: moments?.mean[place] ?? 0,
        width: moments?.width[place] ?? 0,
      };
      if (domain) choice.features = domain.at(index);
      if (chance) choice.probability = chance(index, place);
      choices[place] = choice;
    }
    return choices;
  }

  /**
   * The list by score, the list that is shown, and its probabilities as far as they are known. `shownOnly`: no other candidate's are asked for.
   */
  #scored(request: ChooseRequest, limit: number, shownOnly = false) {
    const { domain, moments, deterministic } = this.#rule;
    if (domain) this.#refuseCandidates(request);
    const given = domain ? ofFeatures(domain.points, domain.dimension, domain.count) : this.#given(request);
    const { count } = given;
    const { families } = request;
    if (families && families.count !== count) throw outOfRange("families", `those of ${count} candidates`, families.count);
    const asked = new DecisionRequest(request, given, limit, this.#impressions() + 1, this.#context);
    const ranked = this.#ranked(asked, request.greedy === true);
    const { list: own } = ranked;
    const momentsOf = ranked.moments ?? (moments && ((indices: readonly number[]) => moments(asked, indices)));
    const greedy = request.greedy === true && momentsOf !== undefined;
    const shares = this.#shares(request, count, own.length);
    const certain = greedy || (shares.uniform > 0 && deterministic);
    const known: ChanceOf | undefined = certain ? (index, place) => Number(own[place] === index) : ranked.chance;
    const shown = shares.order ?? own;
    const random = shares.uniform > 0 ? randomShare(count, families?.randomChances(own.length, shownOnly ? shown : undefined)) : undefined;
    return { domain, count, own, shown, ranked, shares, known, random, momentsOf };
  }

  /** Ranks by the rule, or by the means if it knows them. */
  #ranked(asked: ScoreRequest, greedy: boolean): Ranked {
    const { score: rule, means } = this.#rule as Required<Pick<Rule, "score">> & Rule;
    if (greedy && means) return rankedBy({ score: means(asked) }, asked);
    const scores = rule(asked);
    if ("list" in scores) return scores;
    const { moments } = scores;
    if (!greedy || !moments) return rankedBy(scores, asked);
    const all = Array.from({ length: asked.count }, (_, index) => index);
    // Copied, because the next call for moments may overwrite the means.
    return rankedBy({ score: Float64Array.from(moments(all).mean), moments }, asked);
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

  #given({ candidates, points }: ChooseRequest): Given {
    const { dimension } = this.#rule;
    if (points === undefined) return ofFeatures(this.flatten(candidates), dimension, (candidates as readonly Candidate[]).length);
    if (candidates !== undefined) throw outOfRange("points", "none beside candidates", points);
    if (dimension === 0) throw wrongType("points", `candidates instead, as ${this.#id} looks at no features`, points);
    if (!areEncoded(points)) return ofFeatures(boundedNumbers("points", matrix("points", points, dimension)), dimension);
    if (points.dimension !== dimension) throw outOfRange("points", `vectors of ${dimension} numbers`, points.dimension);
    if (points.count === 0) throw outOfRange("points", "at least one action", points.count);
    if (!points.catalogue) return ofFeatures(points.matrix(), dimension);
    return { count: points.count, dimension, points: undefined, encoded: points };
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

function ofFeatures(points: Float64Array, dimension: number, count = points.length / dimension): Given {
  return { count, dimension, points, encoded: undefined };
}

/** Checks the time, and the options that govern random draws. @throws {TypeError | RangeError} naming the option. */
function check({ greedy = false, draws = 0, normals, round, now }: ChooseRequest): void {
  flag("greedy", greedy);
  wholeNumber("draws", draws, 0, DRAWS_LIMIT);
  if (draws > 0 && normals) throw outOfRange("normals", "none with draws, whose normals belong to the trial", normals);
  wholeNumber("round", round, 1);
  if (now !== undefined) parseNow(now);
}

function randomShare(count: number, inAnyOrder: ChanceOf | undefined): RandomShare {
  return inAnyOrder ? (share, ...at) => share * inAnyOrder(...at) : (share) => share / count;
}

/** Chances if with probability `uniform` those of a `random` order hold, and `free` otherwise. */
function mixed(uniform: number, random: RandomShare | undefined, free: ChanceOf = () => 0): ChanceOf {
  if (!random) return free;
  return (index, place) => random(uniform, index, place) + (1 - uniform) * free(index, place);
}
