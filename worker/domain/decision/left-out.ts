// The products that the list of a visitor leaves out: those that the visitor has bought, and those shown often enough.

import { MOST_LEFT_OUT } from "../../protocol/most.ts";
import { shownAtOf } from "../ids/uuid.ts";
import type { Outcome } from "../impression/outcome.ts";
import type { ModelConfig } from "../model/model.ts";
import type { DecisionRequest } from "./decision.ts";
import { freeCandidates, mayNameOf } from "./offer.ts";
import type { Served } from "./served.ts";

type Rule = NonNullable<ModelConfig["leaveOut"]>;

/** An impression that a visitor has seen. */
export interface Seen {
  readonly impression: string;
  readonly action: string;
  readonly bought: boolean;
}

/** Whether an impression has brought a purchase. An order that is refunded in full is none. */
export function isBought({ bought }: Rule, { converted, reward, delays }: Outcome): boolean {
  if (typeof bought === "string") return Object.hasOwn(delays ?? {}, bought);
  return bought === true && converted && (reward ?? 0) > 0;
}

/** Products that a visitor has bought, and those shown so many times within the time of the rule. An impression that comes twice counts once. */
function leftOutBy({ shown, bought: counts }: Rule, seen: readonly Seen[], now: number) {
  const bought = new Set(seen.flatMap(({ action, bought }) => (bought && counts ? [action] : [])));
  if (!shown) return { bought, often: new Set<string>() };
  const recent = seen.filter(({ impression }) => shownAtOf(impression) > now - shown.within.ms);
  const byAction = Map.groupBy(new Map(recent.map((each) => [each.impression, each.action])).values(), (action) => action);
  return { bought, often: new Set(Array.from(byAction).flatMap(([action, { length }]) => (length >= shown.times ? [action] : []))) };
}

/**
 * The request with the candidates that the model's rule leaves out. At least one candidate stays: products that were shown often come back
 * first, then those that were bought.
 * @throws {Problem} 422 if the request does not fit the model.
 */
export function withLeftOut<Request extends DecisionRequest>(
  { catalogue, config }: Served,
  request: Request,
  seen: readonly Seen[],
  now: number,
): Request & Pick<DecisionRequest, "leftOut"> {
  const { bought, often } = leftOutBy(config.leaveOut ?? {}, seen, now);
  if (bought.size + often.size === 0) return request;
  const { actions } = freeCandidates(catalogue, request, request.byPage ? mayNameOf(catalogue, config) : undefined).candidates;
  const ids = new Set(actions.map(({ id }) => id));
  for (const rule of [new Set([...bought, ...often]), bought]) {
    const leftOut = Array.from(rule)
      .filter((id) => ids.has(id))
      .slice(0, MOST_LEFT_OUT);
    if (leftOut.length < actions.length) return leftOut.length > 0 ? { ...request, leftOut } : request;
  }
  return request;
}
