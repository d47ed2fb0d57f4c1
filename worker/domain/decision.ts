import type { Choice, ChooseRequest, Policy } from "afterclick";
import type { Featurizer } from "../../publication/featurizer.ts";
import type { Assignment } from "../protocol/answers.ts";
import { Problem } from "../protocol/problem.ts";
import type { Action, Features, RecommendationsBody } from "../protocol/schema.ts";
import type { Candidates, Catalogue } from "./catalogue.ts";
import type { Asked, Decision, ImpressionRow } from "./impression.ts";
import { counted, type RequestKeys } from "./join-key.ts";
import { acceptable, type ModelConfig } from "./model.ts";
import { checkPageActions, checkPagePoints, checkPageRequest } from "./page-rules.ts";
import type { Policies } from "./policies.ts";
import { type Impression, shownAtOf, uuidAt } from "./token.ts";

/** A model at one version, ready to decide, in a learner or in an isolate at the edge. */
export interface Served {
  readonly config: ModelConfig;
  readonly featurize: Featurizer;
  readonly catalogue: Catalogue;
  readonly policies: Policies;
  readonly version: number;
}

export interface DecisionRequest extends Omit<RecommendationsBody, "defer" | "keys"> {
  /** Whether it came with a publishable key. */
  readonly byPage?: boolean;
}

/** A shown action, as the response has it. */
export interface Recommended extends Pick<Impression, "id" | "action" | "probability"> {
  readonly score: number;
  readonly mean: number;
  readonly width: number;
  /** The chosen point of a policy with its own domain. */
  readonly features?: readonly number[];
}

export interface Decided {
  readonly arm: Assignment;
  /** The shown actions, best first: as impressions, and as the response has them. */
  readonly rows: readonly ImpressionRow[];
  readonly actions: readonly Recommended[];
}

/** The candidates of a decision. */
export interface Offer {
  readonly actions: readonly Action[];
  /** Features: actions x dimension, row-major. Absent if the policy chooses in its own domain. */
  readonly points?: Float64Array;
}

/** A request for fewer than one in this many catalogue actions turns only those into vectors. */
const MANY = 8;

/**
 * Decides, without changing anything. All randomness comes from the id of the first impression, so the same version of the model
 * repeats the same decision.
 *
 * @throws {Problem} 422 if the request does not fit the model, or no candidate is left.
 */
export function decide(served: Served, request: DecisionRequest, keys: RequestKeys, shownAt: number): Decided {
  return decideAs((count) => idsAt(shownAt, count), served, request, keys);
}

/** Decides for impressions with given ids. With the ids of an earlier decision it repeats that decision. @see decide */
export function decideAs(
  idsOf: (count: number) => readonly string[],
  served: Served,
  request: DecisionRequest,
  keys: RequestKeys,
): Decided {
  const { config, policies, version } = served;
  const [{ policy }] = policies;
  if (request.byPage) checkPageRequest(request, config);
  const { arm: free, ...offer } = policy.hasDomain ? ownDomain(config, request) : offered(served, request);
  const { actions, points } = offer;
  const candidates = points ? actions.length : null;
  const ids = idsOf(points ? Math.min(request.limit, actions.length) : request.limit);
  const arm = free === "policy" && holdoutDraw(ids[0]) < config.holdout ? "holdout" : free;
  const draw = { round: policy.impressions + 1, now: shownAtOf(ids[0]), decision: ids[0], draws: config.draws };
  const greedy = request.greedy ?? config.greedy;
  // A share of 1 makes all orders equally likely.
  const minimumShare = arm === "holdout" ? 1 : config.minimumShare;
  const choices = acceptable(() => policy.choose({ ...draw, ...among(policy, offer), limit: ids.length, minimumShare, greedy }));
  const shadows = shadowsOf(served, offer, draw);
  const asked = askedOf(request);
  const { byPage = false } = request;
  const origin = { keys: counted(keys, byPage, config.pageKeys), byPage };
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
      ...origin,
    };
  });
  return { arm, rows, actions: choices.map((choice, place) => answerOf(choice, rows[place])) };
}

/** The restrictions of a request; none if it asks for the whole catalogue. */
function askedOf({ actions, exclude, greedy }: DecisionRequest): { readonly asked?: Asked } {
  if (actions === undefined && exclude.length === 0 && greedy === undefined) return {};
  return { asked: { ...(actions && { actions }), ...(exclude.length > 0 && { exclude }), ...(greedy !== undefined && { greedy }) } };
}

function ownDomain({ policy }: ModelConfig, { context, actions, exclude }: DecisionRequest): Offer & { readonly arm: Assignment } {
  if ((context ?? actions ?? exclude[0]) === undefined) return { arm: "policy", actions: [] };
  throw new Problem(422, `expected a limit only, as ${policy} chooses in its own domain`);
}

/** The candidates of a request. Without any, the default action is the only candidate. */
function offered(served: Served, { context, actions, exclude, byPage }: DecisionRequest): Offer & { readonly arm: Assignment } {
  const { catalogue, config } = served;
  if (byPage && actions) checkPageActions(actions, catalogue, config);
  const candidates = catalogue.candidates(actions, exclude);
  if (candidates.actions.length > 0) {
    const offer = offerOf(served, context, candidates);
    if (byPage && candidates.places === null) checkPagePoints(offer.points as Float64Array, candidates.actions);
    return { arm: "policy", ...offer };
  }
  if (config.defaultAction === null) {
    throw new Problem(422, "actions: none to choose among; name some, put a catalogue, or configure a defaultAction");
  }
  return { arm: "default", ...offerOf(served, context, { actions: [catalogue.named(config.defaultAction)], places: null }) };
}

/** @throws {Problem} 422 if the features do not fit the model. */
export function offerOf({ featurize, catalogue, policies }: Served, context: Features | undefined, { actions, places }: Candidates): Offer {
  const picked = places !== null && places.length * MANY > catalogue.size;
  const points = picked ? rowsOf(featurize.matrix(context, catalogue.actions), catalogue.size, places) : featurize.matrix(context, actions);
  const d = points.length / actions.length;
  for (const { policy } of policies) {
    if (policy.dimension > 0 && policy.dimension !== d) {
      throw new Problem(422, `features: expected ${policy.dimension} numbers of context and action together, got ${d}`);
    }
  }
  return { actions, points };
}

/** Selected rows of a row-major matrix of `count` rows; the matrix itself if all are selected. */
function rowsOf(matrix: Float64Array, count: number, places: readonly number[]): Float64Array {
  if (places.length === count && places.every((place, i) => place === i)) return matrix;
  const d = matrix.length / count;
  const rows = new Float64Array(places.length * d);
  places.forEach((place, i) => {
    rows.set(matrix.subarray(place * d, (place + 1) * d), i * d);
  });
  return rows;
}

/** Candidates as the policy takes them. A policy of dimension 0 takes only their number. */
export function among({ dimension }: Policy, { actions, points }: Offer): Pick<ChooseRequest, "points" | "candidates"> {
  return dimension > 0 || !points ? { points } : { candidates: actions.map(() => ({})) };
}

/** The action that each shadow ranks first, by the shadow's name. */
function shadowsOf({ config, policies }: Served, offer: Offer, draw: ChooseRequest): Readonly<Record<string, string>> | undefined {
  if (config.shadows.length === 0) return undefined;
  const shown = config.shadows.map(({ name }, i) => {
    const { policy } = policies[i + 1];
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

/** Uniform on [0, 1), from the last 32 bits of the id. Nothing else draws from these bits directly. */
function holdoutDraw(id: string): number {
  return Number.parseInt(id.slice(-8), 16) / 2 ** 32;
}
