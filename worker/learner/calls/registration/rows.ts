// Makes the rows of impressions that were decided elsewhere, and refuses those that the model cannot take.

import { type Featurizer, toDyadic } from "afterclick/research";
import {
  checkPageActions,
  checkPagePoints,
  checkPageProbability,
  checkPageText,
  checkPageTime,
} from "../../../domain/catalogue/page-rules.ts";
import { refusal } from "../../../domain/conversion/refusal.ts";
import { counted } from "../../../domain/ids/join-key.ts";
import { CLOCK_TOLERANCE_MS } from "../../../domain/ids/token.ts";
import { shownAtOf } from "../../../domain/ids/uuid.ts";
import type { ImpressionRow } from "../../../domain/impression/impression.ts";
import { acceptable, type ModelConfig } from "../../../domain/model/model.ts";
import type { Policies } from "../../../domain/model/policies.ts";
import { Problem, placed } from "../../../protocol/problem.ts";
import type { DecidedElsewhere, PastLine } from "../../../rpc/message.ts";
import type { PastRow } from "../../model/past-rows.ts";
import type { LearnerStore } from "../../store/learner-store.ts";
import { countable } from "./acceptance.ts";

/** The model that takes impressions decided elsewhere. */
interface Receiver {
  readonly store: LearnerStore;
  readonly config: ModelConfig;
  readonly featurize: Featurizer;
  readonly policies: Policies;
  /** Whether a page registers them. */
  readonly byPage?: boolean;
}

/**
 * Turns impressions that were decided elsewhere into rows.
 *
 * @param oldest the earliest time shown that is taken, in ms since 1970. A known impression is taken at any age.
 * @throws {Problem} 422 naming the item's place.
 */
export function rowsOf(items: readonly DecidedElsewhere[], receiver: Receiver, oldest: number): ImpressionRow[] {
  return items.map((item, index) => placed(`[${index}]`, () => rowOf(item, receiver, oldest)));
}

/**
 * Turns the lines of a past log into rows, without deferred impressions that were never shown.
 *
 * @throws {Problem} 422 naming the line.
 */
export function pastRowsOf(lines: readonly PastLine[], receiver: Receiver): PastRow[] {
  return lines.map((line) => placed(`line ${line.line}`, () => pastRowOf(line, receiver))).filter((row) => row !== null);
}

function rowOf(shown: DecidedElsewhere, { store, config, featurize, policies, byPage = false }: Receiver, oldest: number): ImpressionRow {
  const { id, name, context, features, probability, place, keys } = shown;
  if (byPage) {
    checkPageActions([shown.action], store.catalogue, config);
    checkPageProbability(probability);
    checkPageText({ context, action: shown.action });
  }
  const shownAt = shownAtOf(id);
  if (shownAt > Date.now() + CLOCK_TOLERANCE_MS) throw new Problem(422, "shownAt: lies in the future");
  if (shownAt < oldest && !store.impressions.registered(id, name)) {
    const { horizon } = store.model;
    throw new Problem(422, `shownAt: ${oldest > horizon ? "its window has passed, and the grace after it" : deleted(horizon)}`);
  }
  if (byPage) checkPageTime(shownAt, Date.now());
  const action = features ? shown.action : store.catalogue.featured(shown.action, byPage);
  const point = features ? Float64Array.from(features, toDyadic) : featurize.vector(context, action);
  if (byPage && shown.action.features) checkPagePoints(point, [action], config);
  const stated = probability !== undefined || (place !== undefined && place > 0);
  const scores = { score: 0, mean: 0, width: 0, ...(probability !== undefined && { probability }) };
  const decision = stated ? { ...scores, place: place ?? 0, candidates: null } : null;
  return {
    id,
    name,
    action: action.id,
    features: acceptable(() => countable(policies, point)),
    context: context ?? null,
    arm: "policy",
    version: store.seq,
    decision,
    keys: counted(keys, byPage, config.pageKeys),
    byPage,
  };
}

function deleted(horizon: number): string {
  const since = new Date(horizon).toISOString();
  return `expected ${since} or later, as a reset or the retention has deleted what was shown before: leave it out, or import it into a new model`;
}

function pastRowOf(line: PastLine, receiver: Receiver): PastRow | null {
  const { store, config } = receiver;
  if (line.type === "model") return null;
  if (line.type === "impression") {
    const { arm, state, byPage, sampling } = line;
    if (state === "deferred" && shownAtOf(line.id) < store.model.watermark) return null;
    return { ...rowOf(line, receiver, store.model.horizon), arm, state, byPage, sampling };
  }
  const { event, status } = line;
  // An export says which rewards it did not count.
  const detail = status === "refused" ? undefined : refusal(event, config);
  if (detail) throw new Problem(422, detail);
  return { event, status };
}
