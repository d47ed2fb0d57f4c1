// Counts policy and holdout from a log, by the same steps as the worker's tables, so that both state the same lift.

import { refusal } from "../../worker/domain/conversion/refusal.ts";
import { counting, resolved } from "../../worker/domain/conversion/reward.ts";
import { gridOf } from "../../worker/domain/figures/delay-grid.ts";
import { shareName, UNASSIGNED } from "../../worker/domain/figures/holdout-share.ts";
import { ANY_GOAL, type ArmCounts, type LiftCounts, type ReachedCounts } from "../../worker/domain/figures/lift.ts";
import { productGroup } from "../../worker/domain/figures/product-group.ts";
import { comparedSteps } from "../../worker/domain/impression/shown-step.ts";
import type { ImpressionLine } from "../../worker/domain/log/log-line.ts";
import { DEFAULTS_VERSION } from "../../worker/domain/model/defaults.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import { counted } from "../command/counted.ts";
import type { Texts } from "../log/event-log.ts";
import { type LoggedLines, loggedLines } from "./logged-lines.ts";

/** A log that has no such comparison. The message says what to do. */
export class ComparisonError extends Error {
  override readonly name = "ComparisonError";
}

/** The counts of a model's log, by which the policy and its holdout are compared. Times are in ms since 1970. */
export interface LoggedArms {
  readonly model: string;
  /** When the log was exported. */
  readonly end: number;
  readonly windows: Pick<ModelConfig, "window" | "goals">;
  /** The goals to compare. The empty goal is any. */
  readonly goals: readonly string[];
  readonly counts: LiftCounts;
  /** Number of impressions that this model did not assign to an arm. */
  readonly unassigned: number;
  /** Number of lines that stood in the log before. */
  readonly repeated: number;
}

/**
 * Counts the lists that the policy ranked, and those of the holdout, as the worker does.
 *
 * @param goal the goal to compare. All that the model declares, if it is left out.
 * @throws {ComparisonError} if the log does not have this goal. @throws {LogMismatch} at a malformed line.
 */
export async function loggedArms(
  texts: Texts,
  goal: string | undefined,
  progress: (done: number, all: number) => void,
): Promise<LoggedArms> {
  const log = await loggedLines(texts, progress);
  const { model, end, config, repeated } = log;
  const goals = goalsOf(log, goal);
  const arms = new CountedArms(config, goals, end);
  let unassigned = 0;
  for (const impression of log.impressions) {
    const share = shareName(impression, log.decided, impression.shard === undefined ? log.decided : null);
    if (share === UNASSIGNED) unassigned++;
    arms.show(impression, share);
    const reached = delaysReached(log, impression, goals);
    for (const [each, delay] of reached) arms.reach(impression, share, each, delay);
  }
  const counts = arms.counts();
  const { window, goals: declared } = config;
  return { model, end, windows: { window, goals: declared }, goals, counts, unassigned, repeated };
}

function goalsOf({ model, config, configs, reached }: LoggedLines, asked: string | undefined): string[] {
  const names = Object.keys(config.goals ?? {});
  if (asked === undefined) return names.length > 0 ? names : [ANY_GOAL];
  if (names.includes(asked)) return [asked];
  const removed = configs.some(({ goals }) => goals && Object.hasOwn(goals, asked));
  if (removed) {
    const now = names.length > 0 ? `it declares ${names.join(", ")}` : "it declares none";
    throw new ComparisonError(
      `--goal: expected a goal that model ${model} still declares, got ${asked}, which was removed. Its later conversions are not in the log; ` +
        `${now}. Compare the log that you exported before the removal, or declare the goal again`,
    );
  }
  if (names.length > 0) throw new ComparisonError(`--goal: expected one of ${names.join(", ")}, got ${asked}`);
  if (reached.size > 0 && !reached.has(asked)) {
    const goals = Array.from(reached).toSorted().join(", ");
    throw new ComparisonError(`--goal: expected one of the goals that the log's conversions have, ${goals}, got ${asked}`);
  }
  return [asked];
}

/**
 * Time to the first conversion of each goal that an impression has reached. As in a relearning, rewards outside the present range do not
 * count. A reward of 0 is silence, whichever version of the worker wrote the log.
 */
function delaysReached({ conversionsOf, config }: LoggedLines, impression: ImpressionLine, goals: readonly string[]): [string, number][] {
  const all = counting(conversionsOf(impression.id)).filter((line) => refusal(line, config) === undefined);
  if (all.length === 0) return [];
  const rules = { ...config, defaults: DEFAULTS_VERSION };
  if (config.goals || goals[0] === ANY_GOAL) {
    const outcome = resolved(all, rules, impression.shownAt);
    const delays = new Map(Object.entries(outcome?.delays ?? {}));
    return goals.flatMap((goal) => (delays.has(goal) ? [[goal, delays.get(goal) as number] as [string, number]] : []));
  }
  const [goal] = goals;
  const outcome = resolved(
    all.filter((event) => event.goal === goal),
    rules,
    impression.shownAt,
  );
  return outcome?.delay === undefined ? [] : [[goal, outcome.delay]];
}

/** @throws {ComparisonError} if the log does not have both arms. */
export function checkArms({ model, unassigned, counts }: LoggedArms): void {
  const assigned = counts.arms.filter(({ share }) => share !== UNASSIGNED);
  const missing = (["holdout", "policy"] as const).find((arm) => !assigned.some((each) => each.arm === arm));
  if (missing === undefined) return;
  const elsewhere = unassigned > 0 ? `; it did not assign its ${counted(unassigned, "registered or imported impression")}` : "";
  throw new ComparisonError(
    missing === "holdout"
      ? `expected lists of a holdout, got none of model ${model}${elsewhere}: PATCH it with { "holdout": 0.1 }, and wait`
      : `expected lists of the policy beside those of the holdout, got none of model ${model}${elsewhere}: PATCH it with a holdout of at most 0.5`,
  );
}

type Reached = { -readonly [Name in keyof ReachedCounts]: ReachedCounts[Name] };
type Groups = { groups: Record<string, number> };
type Counted = { -readonly [Name in keyof ArmCounts]: ArmCounts[Name] } & Groups;
type Cell = Pick<ArmCounts, "arm"> & { cohort: number; length: number; bin: number; count: number; delay: number } & Groups;

/** A list, or the part of it with one share. */
interface List extends Pick<ArmCounts, "arm" | "share" | "step"> {
  size: number;
  /** Impressions that have reached each goal. */
  readonly came: Map<string, number>;
}

/** Counts an impression of an action by its group of products. */
function addTo({ groups }: Groups, action: string): void {
  const group = productGroup(action);
  groups[group] = (groups[group] ?? 0) + 1;
}

/** Counts the impressions of a log, in the steps of a comparison at its end. */
class CountedArms {
  readonly #stepOf: (shownAt: number) => number;
  readonly #grids: ReadonlyMap<string, ReturnType<typeof gridOf>>;
  readonly #arms = new Map<string, Counted>();
  readonly #lists = new Map<string, List>();
  readonly #cells: ReadonlyMap<string, Map<string, Cell>>;

  constructor(windows: ModelConfig, goals: readonly string[], now: number) {
    this.#stepOf = comparedSteps(windows, now);
    this.#grids = new Map(goals.map((goal) => [goal, gridOf(windows, goal)]));
    this.#cells = new Map(goals.map((goal) => [goal, new Map()]));
  }

  show({ id, action, arm, decision, shownAt }: ImpressionLine, share: string): void {
    const step = this.#stepOf(shownAt);
    const key = `${step} ${arm} ${share}`;
    const counted = this.#arms.get(key) ?? { arm, share, step, impressions: 0, elapsed: 0, lists: 0, squares: 0, groups: {} };
    this.#arms.set(key, counted);
    counted.impressions++;
    addTo(counted, action);
    if (step > 0) counted.elapsed += shownAt - step;
    if (share === UNASSIGNED) return;
    const name = `${decision?.first ?? id} ${share}`;
    const list = this.#lists.get(name) ?? { arm, share, step, size: 0, came: new Map() };
    this.#lists.set(name, list);
    if (list.size === 0) counted.lists++;
    counted.squares += 2 * list.size + 1;
    list.size++;
  }

  reach({ id, action, arm, decision, shownAt }: ImpressionLine, share: string, goal: string, delay: number): void {
    const list = this.#lists.get(`${decision?.first ?? id} ${share}`);
    list?.came.set(goal, (list.came.get(goal) ?? 0) + 1);
    const [grid, cells] = [this.#grids.get(goal), this.#cells.get(goal)];
    if (!grid || !cells) return;
    const [cohort, bin] = [Math.floor(shownAt / grid.cohort), grid.bin(delay)];
    const cell = cells.get(`${cohort} ${bin} ${arm}`) ?? { cohort, length: 1, bin, arm, count: 0, delay: 0, groups: {} };
    cells.set(`${cohort} ${bin} ${arm}`, cell);
    cell.count++;
    cell.delay += delay;
    addTo(cell, action);
  }

  counts(): LiftCounts {
    const reached = new Map<string, Reached>();
    for (const { arm, share, step, size, came } of this.#lists.values()) {
      for (const [goal, count] of came) {
        const key = `${step} ${arm} ${share} ${goal}`;
        const sums = reached.get(key) ?? { arm, share, step, goal, conversions: 0, converted: 0, conversionSquares: 0, products: 0 };
        reached.set(key, sums);
        sums.conversions += count;
        sums.converted++;
        sums.conversionSquares += count ** 2;
        sums.products += count * size;
      }
    }
    const delays = new Map(Array.from(this.#cells, ([goal, cells]) => [goal, Array.from(cells.values())]));
    return { arms: Array.from(this.#arms.values()), reached: Array.from(reached.values()), delays };
  }
}
