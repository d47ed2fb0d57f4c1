// npm run compare, npx afterclick compare: compares a policy with its holdout, from a log whose windows need not have closed.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type ArmComparison, compareArms, type Visitor } from "../comparison/arm-comparison.ts";
import { sampleRatioEvidence } from "../comparison/sample-ratio.ts";
import { numberIn, prepared, unreadable, type Values } from "./command.ts";
import { ComparisonError, type LoggedArms, loggedArms } from "./compare/logged-arms.ts";
import { countingBar } from "./progress.ts";
import { LogMismatch } from "./verify/event-log.ts";

const usage = (called: string): string => `Compares the conversion rates of a policy and of its random holdout, before windows close.
You may look every day and stop at any look: the interval holds for all looks together.

Usage: ${called} EVENTS [--goal NAME] [--effect DIFFERENCE] [--alpha P] [--json]

  EVENTS               a log from GET /v1/models/:model/events of a model with a holdout
  --goal NAME          the goal to compare; needed if the model declares several
  --effect DIFFERENCE  absolute difference of rates for which the interval is narrowest, default 0.01. Keep it from the first look on
  --alpha P            probability that any of all intervals misses the difference, default 0.05
  --json               print the result as JSON

Example: ${called} events.jsonl --effect 0.02`;

const options = {
  goal: { type: "string" },
  effect: { type: "string", default: "0.01" },
  alpha: { type: "string", default: "0.05" },
  json: { type: "boolean", default: false },
} as const;

/** Bayes factor from which the numbers of lists contradict the declared share. */
const MISMATCH = 1000;

interface Result extends ArmComparison {
  readonly model: string;
  readonly goal: string;
  readonly lists: { readonly policy: number; readonly holdout: number };
  /** Bayes factor against the declared share of the holdout. Null if the share changed. */
  readonly mismatch: number | null;
}

async function main({ goal, json, ...values }: Values<typeof options>, file: string): Promise<void> {
  const effect = numberIn("--effect", values.effect, 1e-6, 1);
  const alpha = numberIn("--alpha", values.alpha, 1e-6, 0.5);
  const bar = countingBar("events");
  // Lines that come while nobody reads them are lost.
  const texts = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  const arms = await loggedArms(texts, goal, bar.update).finally(bar.stop);
  const { window, end: now, policy, random, model, holdout } = arms;
  const compared = compareArms(random, policy, { window, effect, alpha, now });
  const lists = { policy: policy.length, holdout: random.length };
  const mismatch = holdout ? sampleRatioEvidence([lists.policy, lists.holdout], [1 - holdout, holdout]) : null;
  const result = { model, goal: arms.goal, lists, ...compared, mismatch };
  console.log(json ? JSON.stringify(result) : report(result, arms));
}

const percent = (share: number): string => (Number.isFinite(share) ? `${(100 * share).toFixed(2)} %` : "unknown");
const conversionsOf = (visitors: readonly Visitor[]): number =>
  visitors.flat().filter(({ convertedAt }) => convertedAt !== undefined).length;

function report({ model, goal, low, high, difference, control, treatment, decided, lists, mismatch }: Result, arms: LoggedArms): string {
  const row = (name: string, visitors: readonly Visitor[], rate: number): string =>
    [
      name.padEnd(10),
      String(visitors.length).padStart(9),
      String(visitors.flat().length).padStart(13),
      String(conversionsOf(visitors)).padStart(13),
      percent(rate).padStart(16),
    ].join("");
  return [
    `model ${model}, goal ${goal}, as of ${new Date(arms.end).toISOString()}`,
    `${"".padEnd(10)}${"lists".padStart(9)}${"impressions".padStart(13)}${"conversions".padStart(13)}${"corrected rate".padStart(16)}`,
    row("policy", arms.policy, treatment),
    row("holdout", arms.random, control),
    "",
    `difference ${percent(difference)}, interval at all looks ${Number.isFinite(low) ? `${percent(low)} to ${percent(high)}` : "unknown: each arm needs 30 converted lists"}`,
    decided ? `decided: the ${low > 0 ? "policy" : "holdout"} converts more` : "not decided yet: the interval contains 0",
    ...(mismatch !== null && mismatch >= MISMATCH
      ? [
          `warning: ${lists.holdout} lists of the holdout do not fit its share. Impressions of one arm are lost: do not trust the difference`,
        ]
      : []),
  ].join("\n");
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
