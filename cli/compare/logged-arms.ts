// Counts policy and holdout from a log, by the same steps as the worker's tables, so that both state the same lift.

import { refusal } from "../../worker/domain/conversion/refusal.ts";
import { counting, resolved } from "../../worker/domain/conversion/reward.ts";
import { shareName, UNASSIGNED } from "../../worker/domain/figures/holdout-share.ts";
import { ANY_GOAL, type LiftCounts } from "../../worker/domain/figures/lift.ts";
import type { ConversionLine } from "../../worker/domain/log/log-line.ts";
import { DEFAULTS_VERSION } from "../../worker/domain/model/defaults.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import { counted } from "../command/counted.ts";
import { ConversionJoin } from "../log/conversion-join.ts";
import type { Log, Progress } from "../log/distinct-lines.ts";
import { CountedArms, type ShownImpression } from "./counted-arms.ts";
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
  /** The moment until which the log has the conversions of each goal. */
  readonly completeUntil: ReadonlyMap<string, number>;
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
 * @param log is read twice: `checked` reports the progress of the first reading, `counted` that of the second.
 * @param goal the goal to compare. All that the model declares, if it is left out.
 * @throws {ComparisonError} if the log does not have this goal. @throws {LogMismatch} at a malformed line.
 */
export async function loggedArms(
  log: Log,
  goal: string | undefined,
  progress: { readonly checked: Progress; readonly counted: Progress },
): Promise<LoggedArms> {
  const logged = await loggedLines(log, progress.checked);
  const { model, end, config, decided, repeated, ids, awaited } = logged;
  const goals = goalsOf(logged, goal);
  const arms = new CountedArms(config, goals, { now: end, ids });
  const join = new ConversionJoin<ShownImpression>(awaited, (shown, conversions) => {
    for (const [each, delay] of delaysReached(conversions, shown, { config, goals })) arms.reach(shown, each, delay);
  });
  let unassigned = 0;
  for await (const line of logged.lines(progress.counted)) {
    if (line.type === "conversion") join.convert(line);
    if (line.type !== "impression") continue;
    if (line.state !== "live") {
      join.show(line.id, null);
      continue;
    }
    const share = shareName(line, decided, line.shard === undefined ? decided : null);
    if (share === UNASSIGNED) unassigned++;
    join.show(line.id, arms.show(line, share));
  }
  join.end();
  const counts = arms.counts();
  const { window, goals: declared } = config;
  const completeUntil = new Map(goals.map((each) => [each, logged.reports.completeUntil(each === ANY_GOAL ? undefined : [each], end)]));
  return { model, end, completeUntil, windows: { window, goals: declared }, goals, counts, unassigned, repeated };
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
function delaysReached(
  conversions: readonly ConversionLine[],
  { shownAt }: ShownImpression,
  { config, goals }: { readonly config: ModelConfig; readonly goals: readonly string[] },
): [string, number][] {
  const all = counting(conversions).filter((line) => refusal(line, config) === undefined);
  if (all.length === 0) return [];
  const rules = { ...config, defaults: DEFAULTS_VERSION };
  if (config.goals || goals[0] === ANY_GOAL) {
    const outcome = resolved(all, rules, shownAt);
    const delays = new Map(Object.entries(outcome?.delays ?? {}));
    return goals.flatMap((goal) => (delays.has(goal) ? [[goal, delays.get(goal) as number] as [string, number]] : []));
  }
  const [goal] = goals;
  const outcome = resolved(
    all.filter((event) => event.goal === goal),
    rules,
    shownAt,
  );
  return outcome?.delay === undefined ? [] : [[goal, outcome.delay]];
}

/** @throws {ComparisonError} if the log does not have both arms. */
export function checkArms({ model, unassigned, counts }: LoggedArms): void {
  const assigned = counts.arms.filter(({ share }) => share !== UNASSIGNED);
  const missing = (["holdout", "policy"] as const).find((arm) => !assigned.some((each) => each.arm === arm));
  if (missing === undefined) return;
  const elsewhere = unassigned > 0 ? `; it did not assign its ${counted(unassigned, "registered, imported or pinned impression")}` : "";
  throw new ComparisonError(
    missing === "holdout"
      ? `expected lists of a holdout, got none of model ${model}${elsewhere}: PATCH it with { "holdout": 0.1 }, and wait`
      : `expected lists of the policy beside those of the holdout, got none of model ${model}${elsewhere}: PATCH it with a holdout of at most 0.5`,
  );
}
