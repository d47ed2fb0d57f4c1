// Makes a list: policy, random share, pins and rules together. It is pure: the same version and id give the same list again.

import { sha256 } from "@noble/hashes/sha2.js";
import type { Policy } from "afterclick";
import { type Choice, type ChooseRequest, type Points, statedScores, vectorAt } from "afterclick/research";
import type { Asked, Decision } from "../../protocol/decision.ts";
import type { Assignment } from "../../protocol/figures.ts";
import { Problem } from "../../protocol/problem.ts";
import type { Action, RecommendationsBody } from "../../protocol/schema.ts";
import { checkPageRequest } from "../catalogue/page-rules.ts";
import { counted, type RequestKeys } from "../ids/join-key.ts";
import type { Impression } from "../ids/token.ts";
import { shownAtOf, uuidAt } from "../ids/uuid.ts";
import type { ImpressionRow } from "../impression/impression.ts";
import { acceptable, type ModelConfig } from "../model/model.ts";
import { among, type Offer, type Restricted, restricted } from "./offer.ts";
import type { Served } from "./served.ts";

export interface DecisionRequest extends Omit<RecommendationsBody, "defer" | "learn" | "userAgent" | "requestId" | "keys"> {
  /** Whether it came with a publishable key. */
  readonly byPage?: boolean;
  /** Names the question. The same question to the same version of the model gets the same list and the same ids for a while. */
  readonly repeat?: string;
  /** Candidates that the model leaves out, see `withLeftOut`. */
  readonly leftOut?: string[];
}

/** For so long a repeated question gets the same ids, in ms. Its impressions are shown at the beginning of such a period. */
const REPEAT_MS = 10_000;

/** A shown action, as the response has it. */
export interface Recommended extends Pick<Impression, "id" | "action" | "probability"> {
  readonly score: number;
  /** As it is stated. The row has the mean of the posterior. */
  readonly mean: number;
  readonly width: number;
  /** The chosen point of a policy with its own domain. */
  readonly features?: readonly number[];
}

export interface Decided {
  /** When the impressions are shown, in ms since 1970. */
  readonly shownAt: number;
  readonly arm: Assignment;
  /** The shown actions, best first: as impressions, and as the response has them. */
  readonly rows: readonly ImpressionRow[];
  readonly actions: readonly Recommended[];
}

/**
 * Decides, without changing anything. All randomness comes from the id of the first impression, so the same version of the model
 * repeats the same decision.
 *
 * @param earliest the impressions are shown at this time or later.
 * @throws {Problem} 422 if the request does not fit the model, or no candidate is left.
 */
export function decide(served: Served, request: DecisionRequest, keys: RequestKeys, now: number, earliest = 0): Decided {
  const { repeat, leftOut = [] } = request;
  const shownAt = repeat === undefined ? now : Math.max(earliest, now - (now % REPEAT_MS));
  const idsOf = (count: number) =>
    repeat === undefined ? idsAt(shownAt, count) : idsFor([repeat, served.version, ...leftOut].join(" "), shownAt, count);
  return decideAs(idsOf, served, request, keys);
}

/** Decides for impressions with given ids. With the ids of an earlier decision it repeats that decision. @see decide */
export function decideAs(
  idsOf: (count: number) => readonly string[],
  served: Served,
  request: DecisionRequest,
  keys: RequestKeys,
): Decided {
  const { config, policies, version, catalogue, unlearnt = false } = served;
  const [{ policy }] = policies;
  const { limit } = request;
  if (request.byPage) checkPageRequest(request, config);
  const { arm: free, pinned, families, ...offer } = policy.hasDomain ? ownDomain(config, request) : restricted(served, request);
  const { actions, points } = offer;
  const candidates = points ? actions.length : null;
  const ids = idsOf(points ? Math.min(limit, actions.length + pinned.size) : limit);
  const arm = free === "policy" ? armOf(served, ids[0]) : free;
  const draw = { round: policy.impressions + 1, now: shownAtOf(ids[0]), decision: ids[0], draws: config.draws };
  const greedy = request.greedy ?? config.greedy;
  // A share of 1 makes all orders equally likely.
  const minimumShare = arm === "holdout" ? 1 : config.minimumShare;
  const left = freePlaces(limit, pinned);
  const places = points ? Math.min(left, actions.length) : left;
  const inOrder = unlearnt && points !== undefined;
  const asking = {
    ...{ ...draw, ...among(policy, offer), limit: places, minimumShare, greedy, families },
    // Among equal scores the first candidate wins.
    ...(inOrder && { uniforms: new Float64Array(actions.length) }),
  };
  const chosen = places > 0 ? acceptable(() => policy.choose(asking)) : [];
  const choices = inOrder ? chosen.map((choice) => ({ ...choice, probability: 1 })) : chosen;
  const shadows = places > 0 ? shadowsOf(served, offer, draw) : undefined;
  const asked = askedOf(request);
  const { byPage = false } = request;
  const origin = { keys: counted(keys, byPage, config.pageKeys), byPage };
  const shown = arranged(choices, pinned, limit);
  const rows = shown.map((each, place): ImpressionRow => {
    const common = {
      place,
      candidates,
      ...(catalogue.version > version && { catalogue: catalogue.version }),
      ...(shadows && { shadows }),
      ...(place > 0 && { first: ids[0] }),
      ...asked,
    };
    const shared = { id: ids[place], name: null, context: request.context ?? null, arm, version, ...origin };
    if ("action" in each) {
      const decision = { probability: 1, score: 0, mean: 0, width: 0, ...common };
      return { ...shared, action: each.action.id, features: each.features, decision };
    }
    const { index, id, features, score, mean, width, probability = policy.deterministic ? 1 : undefined } = each;
    return {
      ...shared,
      action: points ? actions[index].id : id,
      features: features ?? vectorAt(points as Points, index, actions.length),
      decision: { score, mean, width, ...(probability !== undefined && { probability }), ...common },
    };
  });
  return { shownAt: draw.now, arm, rows, actions: shown.map((each, place) => answerOf(policy, each, rows[place])) };
}

type Pinned = Restricted["pinned"];
type Pin = Pinned extends ReadonlyMap<number, infer Each> ? Each : never;

/** Number of places that no pin takes. */
function freePlaces(limit: number, pinned: Pinned): number {
  if (pinned.size === 0) return limit;
  return limit - Array.from(pinned.keys()).filter((place) => place < limit).length;
}

/** The list: pins at their places, choices at the others. Pins move up if there are too few choices. */
function arranged(choices: readonly Choice[], pinned: Pinned, limit: number): readonly (Choice | Pin)[] {
  if (pinned.size === 0) return choices;
  const free = choices.values();
  const places = Array.from({ length: limit }, (_, place) => pinned.get(place) ?? free.next().value);
  return places.filter((each) => each !== undefined);
}

/** The restrictions of a request; none if it asks for the whole catalogue. */
function askedOf({ actions, exclude, greedy, filter, pin, maxPer, boost, leftOut, limit }: DecisionRequest): { readonly asked?: Asked } {
  const asked: Asked = {
    ...(actions && { actions }),
    ...(exclude.length > 0 && { exclude }),
    ...(greedy !== undefined && { greedy }),
    ...(filter && { filter }),
    ...(pin && { pin }),
    ...(maxPer && { maxPer }),
    ...(boost && { boost }),
    ...(leftOut && { leftOut }),
    // Without pins and bounds, shorter lists are the first places of longer ones.
    ...((pin ?? maxPer) && { limit }),
  };
  return Object.keys(asked).length > 0 ? { asked } : {};
}

function ownDomain({ policy }: ModelConfig, { context, actions, exclude, filter, pin, maxPer, boost }: DecisionRequest): Restricted {
  const asked = context ?? actions ?? exclude[0] ?? filter ?? pin ?? maxPer ?? boost;
  if (asked === undefined) return { arm: "policy", actions: [], pinned: new Map() };
  throw new Problem(422, `expected a limit only, as ${policy} chooses in its own domain`);
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

function answerOf(policy: Policy, shown: Choice | { readonly action: Action }, { id, action, decision }: ImpressionRow): Recommended {
  const ownDomain = "index" in shown && shown.features;
  return { id, action, ...statedScores(policy, decision as Decision), ...(ownDomain && { features: Array.from(ownDomain) }) };
}

function idsAt(shownAt: number, count: number): string[] {
  return Array.from({ length: count }, () => uuidAt(shownAt, crypto.getRandomValues(new Uint8Array(10))));
}

/** Ids that follow from a name, so that whoever decides the same question gives the same ones. */
function idsFor(name: string, shownAt: number, count: number): string[] {
  return Array.from({ length: count }, (_, place) => uuidAt(shownAt, sha256(new TextEncoder().encode(`${name} ${shownAt} ${place}`))));
}

function armOf({ config, unlearnt }: Served, first: string): Assignment {
  if (unlearnt) return "catalogue";
  return holdoutDraw(first) < config.holdout ? "holdout" : "policy";
}

/** Uniform on [0, 1), from the last 32 bits of the id. Nothing else draws from these bits directly. */
function holdoutDraw(id: string): number {
  return Number.parseInt(id.slice(-8), 16) / 2 ** 32;
}
