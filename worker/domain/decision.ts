import type { Choice, ChooseRequest, Policy } from "afterclick";
import type { Team } from "../learner/live-model.ts";
import type { Arm } from "../learner/metrics.ts";
import type { Asked, Decision, ImpressionRow } from "../learner/store/impression-store.ts";
import { Problem } from "../protocol/problem.ts";
import type { Action, Features, RecommendationsBody } from "../protocol/schema.ts";
import type { Recommended } from "../rpc/message.ts";
import type { Candidates, Catalogue } from "./catalogue.ts";
import { acceptable, type Featurizer, type ModelConfig } from "./model.ts";
import { shownAtOf, uuidAt } from "./token.ts";

/** What a decision is made with: a model at one version, in a learner or in an isolate at the edge. */
export interface Served {
  readonly config: ModelConfig;
  readonly featurize: Featurizer;
  readonly catalogue: Catalogue;
  readonly team: Team;
  readonly version: number;
}

export type DecisionRequest = Omit<RecommendationsBody, "defer" | "keys">;

export interface Decided {
  readonly arm: Arm;
  /** The shown actions as impressions, best first, and as they are answered. */
  readonly rows: readonly ImpressionRow[];
  readonly actions: readonly Recommended[];
}

/** What there is to choose among. */
export interface Offer {
  readonly actions: readonly Action[];
  /** A row of features per action; absent if the policy chooses in its own domain. */
  readonly points?: Float64Array;
}

/** If this many times as many actions are in the catalogue as are offered, only those are turned into vectors. */
const MANY = 8;

/**
 * Decides. Changes nothing, and draws from the first impression's id alone: the same version makes the same decision again.
 *
 * @param keys hashes, under which its impressions can be found.
 * @throws {Problem} 422 if the request is not of the model's kind, or nothing is left to choose among.
 */
export function decide(served: Served, request: DecisionRequest, keys: readonly string[], shownAt: number): Decided {
  return decideAs((count) => idsAt(shownAt, count), served, request, keys);
}

/** Makes a decision of these impressions: a new one, or the one that they were of. @see decide */
export function decideAs(
  idsOf: (count: number) => readonly string[],
  served: Served,
  request: DecisionRequest,
  keys: readonly string[],
): Decided {
  const { config, team, version } = served;
  const [{ policy }] = team;
  const { arm: free, ...offer } = policy.hasDomain ? ownDomain(config, request) : offered(served, request);
  const { actions, points } = offer;
  const candidates = points ? actions.length : null;
  const ids = idsOf(points ? Math.min(request.limit, actions.length) : request.limit);
  const arm = free === "policy" && holdoutDraw(ids[0]) < config.holdout ? "holdout" : free;
  const draw = { round: policy.impressions + 1, now: shownAtOf(ids[0]), decision: ids[0], draws: config.draws };
  const greedy = request.greedy ?? config.greedy;
  // With a share of 1 for each, all orders are equally likely.
  const minimumShare = arm === "holdout" ? 1 : config.minimumShare;
  const choices = acceptable(() => policy.choose({ ...draw, ...among(policy, offer), limit: ids.length, minimumShare, greedy }));
  const shadows = shadowsOf(served, offer, draw);
  const asked = askedOf(request);
  const rows = choices.map(({ index, id, features, ...scores }, place): ImpressionRow => {
    return {
      id: ids[place],
      name: null,
      action: points ? actions[index].id : id,
      features: features ?? rowsOf(points as Float64Array, actions.length, [index]),
      context: request.context ?? null,
      arm,
      version,
      decision: {
        ...(policy.deterministic && { probability: 1 }),
        ...scores,
        place,
        candidates,
        ...(shadows && { shadows }),
        ...(place > 0 && { first: ids[0] }),
        ...asked,
      },
      keys,
    };
  });
  return { arm, rows, actions: choices.map((choice, place) => answerOf(choice, rows[place])) };
}

/** What of a request the catalogue, the context and the configuration do not say. */
function askedOf({ actions, exclude, greedy }: DecisionRequest): { readonly asked?: Asked } {
  if (actions === undefined && exclude.length === 0 && greedy === undefined) return {};
  return { asked: { ...(actions && { actions }), ...(exclude.length > 0 && { exclude }), ...(greedy !== undefined && { greedy }) } };
}

function ownDomain({ policy }: ModelConfig, { context, actions, exclude }: DecisionRequest): Offer & { readonly arm: Arm } {
  if ((context ?? actions ?? exclude[0]) === undefined) return { arm: "policy", actions: [] };
  throw new Problem(422, `expected a limit only, as ${policy} chooses in its own domain`);
}

/** What a request leaves to choose among: if that is nothing, the default action alone. */
function offered(served: Served, { context, actions, exclude }: DecisionRequest): Offer & { readonly arm: Arm } {
  const { catalogue, config } = served;
  const candidates = catalogue.candidates(actions, exclude);
  if (candidates.actions.length > 0) return { arm: "policy", ...offerOf(served, context, candidates) };
  if (config.defaultAction === null) {
    throw new Problem(422, "actions: none to choose among; name some, put a catalogue, or configure a defaultAction");
  }
  return { arm: "default", ...offerOf(served, context, { actions: [catalogue.named(config.defaultAction)], places: null }) };
}

/** @throws {Problem} 422 if the features are not of the model's kind. */
export function offerOf({ featurize, catalogue, team }: Served, context: Features | undefined, { actions, places }: Candidates): Offer {
  const picked = places !== null && places.length * MANY > catalogue.size;
  const points = picked ? rowsOf(featurize.matrix(context, catalogue.actions), catalogue.size, places) : featurize.matrix(context, actions);
  const d = points.length / actions.length;
  for (const { policy } of team) {
    if (policy.dimension > 0 && policy.dimension !== d) {
      throw new Problem(422, `features: expected ${policy.dimension} numbers of context and action together, got ${d}`);
    }
  }
  return { actions, points };
}

/** Rows of a row-major matrix of `count` rows; the matrix itself if they are all of them. */
function rowsOf(matrix: Float64Array, count: number, places: readonly number[]): Float64Array {
  if (places.length === count && places.every((place, i) => place === i)) return matrix;
  const d = matrix.length / count;
  const rows = new Float64Array(places.length * d);
  places.forEach((place, i) => {
    rows.set(matrix.subarray(place * d, (place + 1) * d), i * d);
  });
  return rows;
}

/** A policy that looks at no features is only told how many candidates there are. */
export function among({ dimension }: Policy, { actions, points }: Offer): Pick<ChooseRequest, "points" | "candidates"> {
  return dimension > 0 || !points ? { points } : { candidates: actions.map(() => ({})) };
}

/** What each shadow would show first, by its name. */
function shadowsOf({ config, team }: Served, offer: Offer, draw: ChooseRequest): Readonly<Record<string, string>> | undefined {
  if (config.shadows.length === 0) return undefined;
  const shown = config.shadows.map(({ name }, i) => {
    const { policy } = team[i + 1];
    const [{ index }] = acceptable(() => policy.choose({ ...draw, ...among(policy, offer) }));
    return [name, offer.actions[index].id];
  });
  return Object.fromEntries(shown);
}

function answerOf({ features }: Choice, { id, action, decision }: ImpressionRow): Recommended {
  const { score, mean, width, probability } = decision as Decision;
  const scores = { score, mean, width, ...(probability !== undefined && { probability }) };
  return { id, action, ...scores, ...(features && { features: Array.from(features) }) };
}

function idsAt(shownAt: number, count: number): string[] {
  return Array.from({ length: count }, () => uuidAt(shownAt, crypto.getRandomValues(new Uint8Array(10))));
}

/** Uniform on [0, 1), by the last 32 bits of the id, on which nothing else draws directly. */
function holdoutDraw(id: string): number {
  return Number.parseInt(id.slice(-8), 16) / 2 ** 32;
}
