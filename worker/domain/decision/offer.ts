import type { Policy } from "afterclick";
import { type ChooseRequest, type Families, families, type Points, vectorAt } from "afterclick/research";
import type { Assignment } from "../../protocol/figures.ts";
import { Problem } from "../../protocol/problem.ts";
import type { Action, Features, RecommendationsBody } from "../../protocol/schema.ts";
import type { Candidates, Catalogue } from "../catalogue/catalogue.ts";
import { attributeTypes, checkAttribute, type MayName, matcher, valuesOf } from "../catalogue/filter.ts";
import { checkPageActions, checkPagePoints } from "../catalogue/page-rules.ts";
import { checkCandidates } from "../model/capacity.ts";
import type { ModelConfig } from "../model/model.ts";
import type { Served } from "./served.ts";

/** The candidates of a decision. */
export interface Offer {
  readonly actions: readonly Action[];
  /** Features of the actions. Absent if the policy chooses in its own domain. */
  readonly points?: Points;
  /** The number that the request adds to the score of each action. */
  readonly boosts?: Float64Array;
}

/** The candidates and the pinned actions of a decision. */
export interface Restricted extends Offer {
  readonly arm: Assignment;
  /** Actions that the request gives, by place, and their features. */
  readonly pinned: ReadonlyMap<number, { readonly action: Action; readonly features: Float64Array }>;
  /** Bounds of families. Absent without `maxPer`. */
  readonly families?: Families;
}

/** The parts of a request that restrict a decision. */
export type Restrictions = Pick<
  RecommendationsBody,
  "context" | "actions" | "exclude" | "filter" | "pin" | "maxPer" | "boost" | "limit"
> & {
  readonly byPage?: boolean;
  /** Candidates that the model leaves out. They may be pinned. */
  readonly leftOut?: readonly string[];
};

/** A request for fewer than one in this many catalogue actions turns only those into vectors. */
const MANY = 8;

/**
 * The offer under the restrictions of a request, with the actions that it pins. Without any candidate and any pin, the default action is
 * the only candidate.
 * @throws {Problem} 422 if the request does not fit the model, or nothing is left to serve.
 */
export function restricted(served: Served, request: Restrictions): Restricted {
  const { catalogue, config } = served;
  const { context, actions, byPage } = request;
  if (byPage && actions) checkPageActions(actions, catalogue, config);
  const mayName = byPage ? mayNameOf(catalogue, config) : undefined;
  const { pins, candidates, bounds, boosts } = freeCandidates(catalogue, request, mayName);
  checkCandidates(config, candidates.actions.length);
  const pinned = pinnedOffer(served, context, pins, byPage);
  if (candidates.actions.length > 0) {
    const offer = offerOf(served, context, candidates);
    if (byPage && candidates.places === null) checkPagePoints(offer.points as Points, candidates.actions, config);
    return { arm: "policy", ...offer, pinned, ...(bounds && { families: bounds }), ...(boosts && { boosts }) };
  }
  if (pinned.size > 0) return { arm: "policy", actions: [], points: new Float64Array(0), pinned };
  const { defaultAction } = config;
  if (defaultAction === null || !catalogue.serves({ id: defaultAction })) {
    throw new Problem(422, "actions: none to choose among; name some, put a catalogue, or configure a defaultAction");
  }
  return { arm: "default", ...offerOf(served, context, { actions: [catalogue.named(defaultAction)], places: null }), pinned };
}

/** Which attributes a page may name. */
export function mayNameOf(catalogue: Catalogue, { pageAttributes }: ModelConfig): MayName {
  return (name) => pageAttributes?.includes(name) ?? !catalogue.hides(name);
}

/** The candidates for the places without pins. @param mayName which attributes a page may name. */
export function freeCandidates(catalogue: Catalogue, request: Omit<Restrictions, "context" | "byPage">, mayName?: MayName) {
  const { maxPer } = request;
  if (maxPer) {
    checkAttribute("maxPer.attribute", maxPer.attribute, attributeTypes(request.actions ?? [], catalogue.types), mayName);
  }
  const pins = pinsOf(catalogue, request, mayName !== undefined);
  const candidates = catalogue.candidates(request, [...Array.from(pins.values(), ({ id }) => id), ...(request.leftOut ?? [])], mayName);
  const free = maxPer ? withinFamilies(candidates, maxPer, pins) : { candidates };
  const boosts = request.boost && boostsOf(catalogue, request, free.candidates, mayName);
  return { pins, ...free, boosts };
}

/** The sum of the boosts that each candidate matches. */
function boostsOf(
  { types }: Catalogue,
  { actions = [], boost = [] }: Pick<Restrictions, "actions" | "boost">,
  candidates: Candidates,
  mayName?: MayName,
): Float64Array {
  const known = attributeTypes(actions, types);
  const entries = boost.map(({ filter, by }, i) => ({ matches: matcher(filter, known, mayName, `boost[${i}].filter`), by }));
  return Float64Array.from(candidates.actions, (action) => entries.reduce((sum, { matches, by }) => (matches(action) ? sum + by : sum), 0));
}

/** Pinned actions by place. Those that are not available leave their places to the policy. */
function pinsOf(
  catalogue: Catalogue,
  { actions, exclude, limit, pin = [] }: Pick<Restrictions, "actions" | "exclude" | "limit" | "pin">,
  byPage: boolean,
): ReadonlyMap<number, Action> {
  const pins = new Map<number, Action>();
  const seen = new Set<string>();
  const taken = new Set<number>();
  pin.forEach(({ action: id, place }, i) => {
    if (taken.has(place) || seen.has(id)) throw new Problem(422, `pin[${i}]: expected each place and each action once`);
    if (place >= limit) throw new Problem(422, `pin[${i}].place: expected less than the limit ${limit}, got ${place}`);
    if (exclude.includes(id)) throw new Problem(422, `pin[${i}].action: ${id} is excluded by the same request`);
    const given = actions?.find((action) => action.id === id);
    if (!given && !catalogue.has(id))
      throw new Problem(422, `pin[${i}].action: ${id} is not in the catalogue${byPage ? "" : catalogue.meant(id)}`);
    const action = given ? catalogue.featured(given, byPage) : catalogue.named(id);
    taken.add(place);
    seen.add(id);
    if (catalogue.serves(action)) pins.set(place, action);
  });
  return pins;
}

function pinnedOffer(
  served: Served,
  context: Features | undefined,
  pins: ReadonlyMap<number, Action>,
  byPage: boolean | undefined,
): Restricted["pinned"] {
  if (pins.size === 0) return new Map();
  const actions = Array.from(pins.values());
  const { points } = offerOf(served, context, { actions, places: null }) as Required<Offer>;
  const foreign = actions.filter((action) => action !== served.catalogue.named(action.id));
  const featuresOf = (i: number): Float64Array => vectorAt(points, i, actions.length);
  if (byPage) for (const action of foreign) checkPagePoints(featuresOf(actions.indexOf(action)), [action], served.config);
  return new Map(Array.from(pins, ([place, action], i) => [place, { action, features: featuresOf(i) }]));
}

/** Leaves out candidates whose families have no room beside the pins, and bounds the families of the others. */
function withinFamilies(
  { actions, places }: Candidates,
  { attribute, count }: NonNullable<Restrictions["maxPer"]>,
  pins: ReadonlyMap<number, Action>,
): { readonly candidates: Candidates; readonly bounds?: Families } {
  const left = new Map<unknown, number>();
  for (const action of pins.values()) {
    const family = familyOf(action, attribute);
    if (family !== undefined) left.set(family, (left.get(family) ?? count) - 1);
  }
  const hasRoom = (action: Action): boolean => (left.get(familyOf(action, attribute)) ?? 1) > 0;
  const kept = Array.from(actions.keys()).filter((i) => hasRoom(actions[i]));
  const whole = kept.length === actions.length;
  const candidates = whole ? { actions, places } : { actions: kept.map((i) => actions[i]), places: places && kept.map((i) => places[i]) };
  const numbers = new Map<unknown, number>();
  const room: number[] = [];
  const of = candidates.actions.map((action) => {
    const family = familyOf(action, attribute);
    if (family === undefined) return -1;
    const known = numbers.get(family) ?? room.push(left.get(family) ?? count) - 1;
    numbers.set(family, known);
    return known;
  });
  return { candidates, bounds: families({ of, room }) };
}

/** The family of an action; undefined if it has none. @throws {Problem} 422 if it has several. */
function familyOf(action: Action, attribute: string): unknown {
  const values = valuesOf(action, attribute);
  if (values.length <= 1) return values[0];
  throw new Problem(422, `maxPer.attribute: expected one value of ${attribute} per action, got ${values.length} of action ${action.id}`);
}

/** @throws {Problem} 422 if the features do not fit the model. */
export function offerOf({ featurize, catalogue, policies }: Served, context: Features | undefined, { actions, places }: Candidates): Offer {
  const { available } = catalogue;
  const picked = places !== null && places.length * MANY > available.length;
  const points = picked ? rowsOf(featurize.points(context, available), available.length, places) : featurize.points(context, actions);
  const d = points instanceof Float64Array ? points.length / actions.length : points.dimension;
  for (const { policy } of policies) {
    if (policy.dimension > 0 && policy.dimension !== d) {
      throw new Problem(422, `features: expected ${policy.dimension} numbers of context and action together, got ${d}`);
    }
  }
  return { actions, points };
}

/** Some of `count` candidates, or themselves if all are selected. */
function rowsOf(points: Points, count: number, places: readonly number[]): Points {
  if (places.length === count && places.every((place, i) => place === i)) return points;
  if (!(points instanceof Float64Array)) return points.pick(places);
  const d = points.length / count;
  const rows = new Float64Array(places.length * d);
  places.forEach((place, i) => {
    rows.set(points.subarray(place * d, (place + 1) * d), i * d);
  });
  return rows;
}

/** Candidates as the policy takes them. A policy of dimension 0 takes only their number. */
export function among({ dimension }: Policy, { actions, points, boosts }: Offer): Pick<ChooseRequest, "points" | "candidates" | "boosts"> {
  const given = boosts && { boosts };
  return dimension > 0 || !points ? { points, ...given } : { candidates: actions as readonly { readonly id: string }[], ...given };
}
