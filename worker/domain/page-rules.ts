import { Problem } from "../protocol/problem.ts";
import type { Action } from "../protocol/schema.ts";
import type { Catalogue } from "./catalogue.ts";
import { acceptable, checkNorms, type ModelConfig } from "./model.ts";

// Everybody who reads a page has its publishable key, so a page may not put features of its own choice into a model.

/** Least probability that a page may state. An estimate weighs the impression with the inverse. */
const LEAST_PROBABILITY = 1e-6;

/** @throws {Problem} 422 unless the actions are in the catalogue and named by id, or the model takes actions of pages. */
export function checkPageActions(actions: readonly Action[], catalogue: Catalogue, { pageActions }: ModelConfig): void {
  const foreign = actions.find(({ id, features }) => features !== undefined || !catalogue.has(id));
  if (!foreign || pageActions) return;
  const what = foreign.features === undefined ? "is not in the catalogue" : "has features";
  throw new Problem(
    422,
    `action ${foreign.id}: ${what}. With a publishable key, name actions of the catalogue by id, or set the model's pageActions`,
  );
}

/**
 * @param points shape: actions x dimension, row-major.
 * @throws {Problem} 422 if an action's own features, with the context's, leave the unit ball.
 */
export function checkPagePoints(points: Float64Array, actions: readonly Action[]): void {
  acceptable(() => checkNorms(points, actions, 1, "the bound for actions of pages"));
}

/** @throws {Problem} 422 */
export function checkPageProbability(probability: number | undefined): void {
  if (probability === undefined || probability >= LEAST_PROBABILITY) return;
  throw new Problem(422, `probability: expected at least ${LEAST_PROBABILITY} from a page, got ${probability}`);
}
