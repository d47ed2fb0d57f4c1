import type { Visitor } from "../../comparison/arm-comparison.ts";
import { windowOf } from "../../worker/domain/goals.ts";
import type { ModelConfig } from "../../worker/domain/model.ts";
import { counting, resolved } from "../../worker/domain/reward.ts";
import { type ConversionLine, type ImpressionLine, LogMismatch, linesOf, type Texts } from "../verify/event-log.ts";

/** The two arms of a model's log. Times are in ms since 1970. */
export interface LoggedArms {
  readonly model: string;
  readonly goal: string;
  readonly window: number;
  /** When the log was exported. */
  readonly end: number;
  /** Share of lists that the holdout should have. Undefined if it changed. */
  readonly holdout: number | undefined;
  /** One entry for each list, whose impressions have one visitor. */
  readonly policy: readonly Visitor[];
  readonly random: readonly Visitor[];
}

/** A log that has no such comparison. The message says what to do. */
export class ComparisonError extends Error {
  override readonly name = "ComparisonError";
}

/**
 * Reads the lists that the policy ranked, and those of the holdout.
 *
 * @param goal the goal to compare. It may be left out if the model declares no goals or one.
 * @throws {ComparisonError} if the log has no holdout, or not this goal. @throws {LogMismatch} at a malformed line.
 */
export async function loggedArms(
  texts: Texts,
  goal: string | undefined,
  progress: (done: number, all: number) => void,
): Promise<LoggedArms> {
  const impressions: ImpressionLine[] = [];
  const conversions = new Map<string, ConversionLine[]>();
  const configs: ModelConfig[] = [];
  let [model, end, all, done] = ["", 0, 0, 0];
  for await (const line of linesOf(texts, { receipts: false })) {
    progress(done++, all);
    if (line.type === "model") [model, end, all] = [line.model, line.exportedAt ?? 0, line.lines ?? 0];
    else if (line.type === "mark" && line.mark === "configuration") configs.push(line.content);
    else if (line.type === "mark" && line.mark === "relearnt") configs.push(line.content.config);
    else if (line.type === "impression" && line.state === "live" && line.decision) impressions.push(line);
    else if (line.type === "conversion") conversions.set(line.impression, [...(conversions.get(line.impression) ?? []), line]);
  }
  const config = configs.at(-1);
  if (!config) throw new LogMismatch("expected a log with the model's configuration, got none");
  const chosen = goalOf(config, goal);
  const arms = { policy: new Map<string, Visitor[number][]>(), holdout: new Map<string, Visitor[number][]>() };
  for (const { id, arm, decision, shownAt } of impressions) {
    if (arm !== "policy" && arm !== "holdout") continue;
    const list = decision?.first ?? id;
    const convertedAt = conversionAt(conversions.get(id) ?? [], shownAt, config, chosen);
    arms[arm].set(list, [...(arms[arm].get(list) ?? []), { shownAt, ...(convertedAt !== undefined && { convertedAt }) }]);
  }
  if (arms.holdout.size === 0)
    throw new ComparisonError(`expected lists of a holdout, got none of model ${model}: put the model with "holdout": 0.1, and wait`);
  const holdout = configs.every((each) => each.holdout === config.holdout) ? config.holdout : undefined;
  const window = windowOf(config, chosen);
  return { model, goal: chosen, window, end, holdout, policy: [...arms.policy.values()], random: [...arms.holdout.values()] };
}

function goalOf({ goals }: ModelConfig, asked: string | undefined): string {
  const names = Object.keys(goals ?? {});
  if (asked === undefined && names.length > 1) throw new ComparisonError(`--goal: expected one of ${names.join(", ")}, got none`);
  if (asked !== undefined && names.length > 0 && !names.includes(asked))
    throw new ComparisonError(`--goal: expected one of ${names.join(", ")}, got ${asked}`);
  return asked ?? names[0] ?? "conversion";
}

/** When a goal was reached first. Undefined if it was not, or if all of it was taken back. */
function conversionAt(all: readonly ConversionLine[], shownAt: number, { goals }: ModelConfig, goal: string): number | undefined {
  const events = counting(all).filter((event) => event.goal === goal);
  // The weight of the goal has no part in whether it was reached.
  const outcome = resolved(events, goals && { [goal]: { ...goals[goal], weight: 1 } }, shownAt);
  return outcome && outcome.reward > 0 && outcome.delay !== undefined ? shownAt + outcome.delay : undefined;
}
