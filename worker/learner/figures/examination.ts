// Reads the random lists of a log, and lets the SDK estimate examination from them.

import type { Policy } from "afterclick";
import {
  type ExaminationEstimate,
  estimateExamination,
  isTooFew,
  type LoggedItem,
  type LoggedList,
  type TooFew,
} from "afterclick/research";
import { isRandomList } from "../../domain/decision/random-list.ts";
import { compareClickModels, type RandomList } from "../../domain/figures/click-models.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import type { LogRow } from "../../domain/log/log-row.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import type { Examination } from "../../rpc/message.ts";
import { type PlacedRow, randomLists } from "./list-log.ts";

/** Newest rows of the log that are read. */
const MOST_ROWS = 100_000;

/** A model and its log. */
export interface ExaminedModel {
  readonly config: ModelConfig;
  readonly policy: Pick<Policy, "ranksAtRandom">;
  /** The newest row of the log, and the page of rows after a row, empty at the end. */
  readonly seq: number;
  page(seq: number): readonly LogRow[];
}

/**
 * How probably visitors examine each place of a list, and the click model that fits best, from the random lists of a log.
 *
 * Delays cancel unless they depend on the place, so impressions whose window is still open count too.
 */
export async function examine(model: ExaminedModel): Promise<Examination> {
  const { rows, isRandom } = await placedRows(model);
  const named = randomLists(rows, isRandom);
  const lists = Array.from(named.values());
  const { places, weights } = await estimateOf(lists);
  const clickModels = await compareClickModels(lists, async (some) => (await estimateOf(some)).weights);
  const counts = places.map(() => ({ impressions: 0, converted: 0 }));
  for (const { place, converted } of lists.flat()) {
    counts[place].impressions++;
    counts[place].converted += Number(converted);
  }
  const [first] = named.keys();
  return {
    configured: model.config.examination ?? null,
    lists: lists.length,
    since: first === undefined ? null : shownAtOf(first),
    places:
      lists.length === 0
        ? []
        : places.map((figure, place) => {
            if (isTooFew(figure)) return { ...counts[place], weight: figure, low: 0, high: null };
            const { value, low, high } = figure;
            return { ...counts[place], weight: value, low, high: Number.isFinite(high) ? high : null };
          }),
    examination: isTooFew(clickModels) ? clickModels : optionOf({ places, weights }),
    clickModels,
  };
}

/** The weights as the option takes them. Later places have the last weight, so it ends with the last place that has one. */
function optionOf({ places, weights }: Pick<ExaminationEstimate, "places" | "weights">): Examination["examination"] {
  const last = places.findLastIndex((figure) => !isTooFew(figure));
  return last > 0 ? weights.slice(0, last + 1).map(rounded) : (places[1] as TooFew);
}

/** A weight with two decimals, at least 0.01. */
const rounded = (weight: number): number => Math.max(1, Math.round(100 * weight)) / 100;

/** Reads the impressions of the log, and which of the lists that a policy ranked are random. */
async function placedRows({ config, policy, seq, page }: ExaminedModel) {
  const from = Math.max(0, seq - MOST_ROWS);
  const rows: PlacedRow[] = [];
  const settings: { readonly since: number; readonly config: ModelConfig }[] = [];
  for (let lines = page(from); lines.length > 0 && lines[0].seq <= seq; lines = page(lines[lines.length - 1].seq)) {
    for (const line of lines) {
      if (line.type === "impression") rows.push(...placedRow(line, config));
      else if (line.type === "mark" && line.mark === "configuration") settings.push({ since: line.seq, config: JSON.parse(line.content) });
    }
    // Other requests to the learner come in between.
    await scheduler.wait(0);
  }
  // Without a change since the first row, that row has the present configuration. Before a change it is unknown.
  if (settings.length === 0) settings.push({ since: 0, config });
  const unknown = { policy: config.policy, minimumShare: 0 };
  const isRandom = (row: PlacedRow): boolean => {
    const decided = settings.findLast(({ since }) => since <= row.version)?.config;
    return isRandomList(policy, decided ?? unknown, row);
  };
  return { rows, isRandom };
}

/** An impression that this worker decided and a visitor saw. None if it is another one. */
function placedRow(row: Extract<LogRow, { type: "impression" }>, { goals }: ModelConfig): PlacedRow[] {
  const { id, action, arm, version, decision, state, erased, converted, waits, reward } = row;
  if (state !== "live" || erased || !decision?.candidates) return [];
  const { place, candidates, first = id } = decision;
  // A goal of weight 0 shows that the place was examined. Without goals a reward of 0 says that nobody converted.
  return [{ first, arm, place, action, candidates, version, converted: (converted || waits) && (goals !== null || reward !== 0) }];
}

/** The estimate of the SDK. It needs the lists that converted, and one as long as the longest for the number of places. */
function estimateOf(lists: readonly RandomList[]) {
  const log = lists.filter((list) => list.some(({ converted }) => converted)).map(loggedList);
  const places = Math.max(0, ...new Set(lists.flat().map(({ place }) => place + 1)));
  if (places > 0) log.push(loggedList([{ place: places - 1, action: "", converted: false }]));
  return estimateExamination({ log, window: "none" });
}

/** A list as the SDK takes it. A missing item had no chance to be seen to convert. */
function loggedList(list: RandomList): LoggedList {
  const length = Math.max(...list.map(({ place }) => place + 1));
  const chances = new Float64Array(length);
  for (const { place } of list) chances[place] = 1 / list.length;
  const items = Array.from({ length }, (_, index): LoggedItem => ({ index, probability: 1 / length }));
  for (const { place, converted } of list) if (converted) items[place] = { ...items[place], chances, conversions: [{ at: 0, reward: 1 }] };
  return { shownAt: 0, count: length, items };
}
