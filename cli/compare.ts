// npm run compare, npx afterclick compare: compares a policy with its holdout, from a log whose windows need not have closed.

import { isTooFew, tooFewText } from "afterclick/research";
import { sampleRatioEvidence } from "../src/comparison/sample-ratio.ts";
import { ANY_GOAL, type GoalLift, type LiftedArm, liftOf } from "../worker/domain/figures/lift.ts";
import { numberIn, prepared, unreadable, type Values } from "./command/command.ts";
import { counted } from "./command/counted.ts";
import { countingBars } from "./command/progress.ts";
import { print } from "./command/terminal.ts";
import { ComparisonError, checkArms, type LoggedArms, loggedArms } from "./compare/logged-arms.ts";
import { repeatedLines } from "./evaluate/repeated-lines.ts";
import { LogMismatch } from "./log/event-line.ts";
import { linesOf } from "./log/event-log.ts";
import { lateLines } from "./log/late-lines.ts";
import { textLines } from "./log/text-lines.ts";

const usage = (called: string): string => `Compares the conversion rates of a policy and of its random holdout, before windows close.
You may look every day and stop at any look: the interval holds for all looks together. If the share of the holdout changed, the arms are
compared within each share.

Usage: ${called} EVENTS [--goal NAME] [--effect DIFFERENCE] [--alpha P] [--json]

  EVENTS               a log from GET /v1/models/:model/events of a model with a holdout
  --goal NAME          one goal only. Default: each goal of the model by itself
  --effect DIFFERENCE  absolute difference of rates for which the interval is narrowest. Keep it from the first look on. Default: a fifth of
                       the rate of both arms, which is rounded, so that looks share it
  --alpha P            probability that any of all intervals of a goal misses the difference, default 0.05
  --json               print the results as JSON, an array with one result for each goal

Example: ${called} events.jsonl --effect 0.02`;

const options = {
  goal: { type: "string" },
  effect: { type: "string" },
  alpha: { type: "string", default: "0.05" },
  json: { type: "boolean", default: false },
} as const;

/** Bayes factor from which the numbers of lists contradict the declared shares. */
const MISMATCH = 1000;

async function main({ goal, json, ...values }: Values<typeof options>, file: string): Promise<void> {
  const effect = values.effect === undefined ? undefined : numberIn("--effect", values.effect, 1e-6, 1);
  const alpha = numberIn("--alpha", values.alpha, 1e-6, 0.5);
  const log = () => linesOf(textLines(file), { receipts: false });
  const bars = countingBars("events checked", "events counted");
  const [checked, done] = bars.updates;
  const arms = await loggedArms(log, goal, { checked, counted: done }).finally(bars.stop);
  checkArms(arms);
  const { counts, windows, end, completeUntil, model, unassigned, repeated } = arms;
  const results = arms.goals.map((each) => {
    const now = completeUntil.get(each) ?? end;
    const lift = liftOf(counts, each, windows, { alpha, now, ...(effect !== undefined && { effect }) });
    return { model, ...lift, goal: nameOf(each), mismatch: mismatchOf(lift), unassigned, repeated };
  });
  print(json ? JSON.stringify(results) : results.map((result) => report(result, arms)).join("\n\n"));
}

const nameOf = (goal: string): string => (goal === ANY_GOAL ? "conversion" : goal);
const percent = (share: number | null): string => (share === null ? "unknown" : `${(100 * share).toFixed(2)} %`);

/** Bayes factor against the declared shares of the holdout. The product of independent ones is one. Null if no share has both arms. */
export function mismatchOf({ shares }: Pick<GoalLift, "shares">): number | null {
  const known = shares.filter(({ holdout }) => holdout !== null && holdout > 0 && holdout < 1);
  if (known.length === 0) return null;
  return known.reduce((factor, { holdout, lists }) => {
    const share = holdout as number;
    return Math.min(factor * sampleRatioEvidence([lists.policy, lists.holdout], [1 - share, share]), Number.MAX_VALUE);
  }, 1);
}

const CLOSED =
  "lists count once their windows have closed: policy and holdout differ in their delays, or products do and too few conversions tell how";

type Result = GoalLift & { readonly model: string; readonly mismatch: number | null };

function report(
  {
    model,
    goal,
    completeUntil,
    windowMs,
    withinMs,
    currency,
    difference,
    relative,
    decided,
    basis,
    policy,
    holdout,
    shares,
    mismatch,
  }: Result,
  { end, unassigned, repeated }: LoggedArms,
): string {
  const row = (name: string, { lists, impressions, conversions, rate }: LiftedArm): string =>
    [
      name.padEnd(10),
      ...[String(lists).padStart(9), String(impressions).padStart(13), String(conversions).padStart(13), percent(rate).padStart(16)],
    ].join("");
  const amounts = currency === null ? "" : `; conversions are compared, not amounts in ${currency}`;
  const interval = isTooFew(difference)
    ? tooFewText(difference)
    : `${percent(difference.value)}${relative === null ? "" : ` (${percent(relative)} of the holdout's rate)`}, interval at all looks ${percent(difference.low)} to ${percent(difference.high)}`;
  const better = !isTooFew(difference) && difference.low > 0 ? "policy" : "holdout";
  return [
    `model ${model}, goal ${goal} within ${(withinMs / 3_600_000).toFixed(1)} h${withinMs < windowMs ? " so far" : ""}, as of ${new Date(completeUntil).toISOString()}${amounts}`,
    ...lateLines({ asOf: completeUntil, completeUntil, end }),
    `${"".padEnd(10)}${"lists".padStart(9)}${"impressions".padStart(13)}${"conversions".padStart(13)}${"corrected rate".padStart(16)}`,
    row("policy", policy),
    row("holdout", holdout),
    "",
    `difference ${interval}`,
    ...(isTooFew(difference) ? [] : [decided ? `decided: the ${better} converts more` : "not decided yet: the interval contains 0"]),
    ...(basis === "all" ? [] : [CLOSED]),
    ...(shares.length > 1 || shares.some(({ compared }) => !compared) ? shares.map(shareText) : []),
    ...(unassigned > 0
      ? [`${counted(unassigned, "impression")} registered, imported or pinned: not assigned by this model, so not compared`]
      : []),
    ...repeatedLines(repeated),
    ...(mismatch !== null && mismatch >= MISMATCH
      ? [
          `warning: the log has ${counted(holdout.lists, "list")} of the holdout, which does not fit its share. Impressions of one arm are lost: do not trust the difference`,
        ]
      : []),
  ].join("\n");
}

function shareText({ holdout, lists, compared }: GoalLift["shares"][number]): string {
  const name = holdout === null ? "between two shares" : `holdout ${holdout}`;
  const counts = `${counted(lists.policy, "list")} of the policy, ${lists.holdout} of the holdout`;
  return `${name}: ${counts}${compared ? ", compared by themselves" : ". Both arms need two lists that have matured, so these tell nothing"}`;
}

export const run = prepared({
  name: "compare",
  usage,
  options,
  argument: "file EVENTS",
  known: [ComparisonError, LogMismatch, RangeError, TypeError],
  explain: unreadable,
  run: main,
});
