// The limits of a page, which has no secret. A backend is bound by none of them.
// Everybody who reads a page has its publishable key, so a page may not put features of its own choice into a model.

import type { Points } from "afterclick/research";
import { Problem } from "../../protocol/problem.ts";
import type { Action, RecommendationsBody } from "../../protocol/schema.ts";
import type { Goals } from "../model/goals.ts";
import { acceptable, checkNorms, type ModelConfig } from "../model/model.ts";
import type { Catalogue } from "./catalogue.ts";

type PageRequest = Pick<RecommendationsBody, "context" | "actions" | "exclude" | "filter" | "pin" | "maxPer" | "boost" | "limit">;

/** Most bytes that the context and the restrictions of one decision may have, as JSON. They are stored once per decision. */
export const MAX_DECISION_BYTES = 4096;

/** Oldest impression that a page may register, in ms. */
const MAX_AGE_MS = 86_400_000;

/** Least probability that a page may state. An estimate weighs the impression with the inverse. */
const LEAST_PROBABILITY = 1e-6;

/** How long after its impression a page may report a goal, in ms. The goal's own window may be shorter. */
export const PAGE_GOAL_MS = 3_600_000;

/** Reward of a goal that a page reports. A page cannot name amounts. */
export const PAGE_REWARD = 1;

/** @throws {Problem} 422 unless the actions are in the catalogue and named by id, or the model takes actions of pages. */
export function checkPageActions(actions: readonly Action[], catalogue: Catalogue, { pageActions }: ModelConfig): void {
  const foreign = actions.find(({ id, features }) => features !== undefined || !catalogue.has(id));
  if (!foreign || pageActions) return;
  const { id, features } = foreign;
  const what = features === undefined ? "is not in the catalogue" : "has features";
  const remedy = "With a publishable key, name actions of the catalogue by id, or set the model's pageActions";
  throw new Problem(422, `action ${id}: ${what}. ${remedy}`);
}

/**
 * An encoder bounds its vectors by itself.
 * @throws {Problem} 422 if an action's own numbers, with the context's, leave the unit ball.
 */
export function checkPagePoints(points: Points, actions: readonly Action[], { encoder }: Pick<ModelConfig, "encoder">): void {
  if (encoder !== null || !(points instanceof Float64Array)) return;
  acceptable(() => checkNorms(points, actions, 1, "the bound for actions of pages"));
}

/** @throws {Problem} 422 */
export function checkPageProbability(probability: number | undefined): void {
  if (probability === undefined || probability >= LEAST_PROBABILITY) return;
  throw new Problem(422, `probability: expected at least ${LEAST_PROBABILITY} from a page, got ${probability}`);
}

/** @throws {Problem} 413 or 422 if a page asks for more than a decision of a page may store. */
export function checkPageRequest({ limit, ...request }: PageRequest, { pageLimit }: ModelConfig): void {
  const { context, actions, exclude, filter, pin, maxPer, boost } = request;
  if (limit > pageLimit) {
    throw new Problem(422, `limit: expected at most ${pageLimit} with a publishable key, got ${limit}; see the model's pageLimit`);
  }
  checkPageText({ context, actions, exclude, filter, pin, maxPer, boost });
}

/** @throws {Problem} 413 if the parts of a page's decision that are stored have too many bytes. */
export function checkPageText(stored: object): void {
  const text = JSON.stringify(stored);
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (3 * text.length <= MAX_DECISION_BYTES) return;
  const { length } = new TextEncoder().encode(text);
  if (length <= MAX_DECISION_BYTES) return;
  const parts = Object.keys(stored).join(", ");
  throw new Problem(413, `${parts}: expected at most ${MAX_DECISION_BYTES} bytes of JSON with a publishable key, got ${length}`);
}

/** @throws {Problem} 422 */
export function checkPageTime(shownAt: number, now: number): void {
  if (shownAt >= now - MAX_AGE_MS) return;
  throw new Problem(422, "shownAt: lies more than a day back; with a publishable key, register impressions of the last day");
}

/** Why a page may not report a goal; undefined if it may. It does not tell private goals from unknown ones. */
export function pageGoalRefusal(goal: string, goals: Goals | null): string | undefined {
  const declared = goals && Object.hasOwn(goals, goal) ? goals[goal] : undefined;
  if (!declared?.public) return `goal: pages may not report ${goal}: declare it with "public": true, or report it with a webhook`;
  if (declared.value) return `goal: ${goal} takes amounts, which a page cannot name: report it with a webhook`;
  return undefined;
}
