// npm run evaluate, npx afterclick evaluate: estimates a policy's reward from a log of another policy's decisions.
import { statSync } from "node:fs";
import { type Evaluation, evaluate, type LoggedDecision, type PolicyFactory, policies, UnsupportedError } from "afterclick";
import { COLUMNS } from "../worker/domain/archive/archive-columns.ts";
import { ArchiveError } from "../worker/domain/archive/archive-file.ts";
import { currencyOf } from "../worker/domain/model/goals.ts";
import { archiveIn, headOf } from "./archive/folder.ts";
import { type ArchivedLog, wholeLog } from "./archive/whole-log.ts";
import { choiceIn, numberIn, prepared, timeIn, UsageError, unreadable, type Values } from "./command/command.ts";
import { countingBar, countingBars } from "./command/progress.ts";
import { print } from "./command/terminal.ts";
import { banditSource } from "./evaluate/bandit-source.ts";
import { lineSource } from "./evaluate/event-source.ts";
import { figureRow, shown } from "./evaluate/figure-row.ts";
import { evaluatedLists, listReport } from "./evaluate/list-report.ts";
import { repeatedLines } from "./evaluate/repeated-lines.ts";
import { rewardUnit } from "./evaluate/reward-unit.ts";
import { type Source, type SourceDecision, SourceError, type SourceOptions } from "./evaluate/source.ts";
import { withinLines } from "./evaluate/within-lines.ts";
import { type EventLine, type HeadLine, LogMismatch } from "./log/event-line.ts";
import { linesOf } from "./log/event-log.ts";
import { lateLines } from "./log/late-lines.ts";
import { textLines } from "./log/text-lines.ts";
import { LogError } from "./replay/open-bandit.ts";

const usage = (
  called: string,
): string => `Estimates the reward that a policy would have earned, from a log of other decisions and their probabilities.

Usage: ${called} EVENTS (--policy ID | --action ID) [--lists] [--options JSON] [--as-of TIME]
                                  [--split SHARE] [--part younger|older] [--windows all|closed] [--draws N] [--seed N] [--archive DIR] [--json]

  EVENTS          a model's log from GET /v1/models/:model/events, a folder with its archive alone, or an Open Bandit csv or csv.gz
  --policy ID     one of ${policies.map(({ id }) => id).join(", ")}
  --action ID     evaluate the policy that always takes this action
  --lists         evaluate whole lists instead of their first place, with examination weights estimated from the log
  --options JSON  options of the policy; its dimension defaults to the log's
  --as-of TIME    ignore conversions after this time: ISO 8601 with a zone or ms since 1970; latest: the end of the log; default: that, or if
                  conversions are reported late, as in a nightly upload, the time until which the log has them
  --split SHARE   share of decisions, oldest first, that teach the policy and the reward model, with the conversions known by
                  then; the others are evaluated; default 0.5
  --part PART     the part that is evaluated, younger or older; default younger. The older one has seen more refunds
  --windows KIND  all, or closed to leave out decisions whose windows are open; default all
  --draws N       samples per decision of a sampling policy, default 100
  --seed N        seed of the policy's randomness, default 0
  --archive DIR   a folder with the archived files of the model: the events that the log lacks
  --json          print the result as JSON

Example: ${called} events.jsonl --policy otf-lin-ucb --split 0.5`;

const options = {
  policy: { type: "string" },
  action: { type: "string" },
  lists: { type: "boolean", default: false },
  options: { type: "string", default: "{}" },
  "as-of": { type: "string" },
  split: { type: "string", default: "0.5" },
  part: { type: "string", default: "younger" },
  windows: { type: "string", default: "all" },
  draws: { type: "string", default: "100" },
  seed: { type: "string", default: "0" },
  archive: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

async function main(values: Values<typeof options>, file: string): Promise<void> {
  const { policy: id = "", action, json, lists } = values;
  if ((id === "") === (action === undefined))
    throw new UsageError(`expected one of --policy and --action, got ${action === undefined ? "neither" : "both"}`);
  if (lists && action !== undefined) throw new UsageError("--lists: expected --policy, got --action, which fills one place");
  const own = optionsOf(values.options);
  const asOf = values["as-of"] === undefined ? undefined : timeIn("--as-of", values["as-of"]);
  const split = numberIn("--split", values.split, 0, 1);
  const draws = numberIn("--draws", values.draws, 1, 10_000);
  const seed = numberIn("--seed", values.seed, 0, Number.MAX_SAFE_INTEGER);
  const evaluated = choiceIn("--part", values.part, ["younger", "older"]);
  const windows = choiceIn("--windows", values.windows, ["all", "closed"]);
  const source = await sourceOf(file, { asOf, lists }, values.archive);
  if (asOf !== undefined) checkAsOf(asOf, source);
  const currency = currencyOf(source.goals ?? null);
  if (lists) {
    const { window, goals, reward, completeUntil } = source;
    const request = {
      policy: descriptorOf(id, own, source),
      asOf: asOf ?? completeUntil,
      window,
      goals,
      reward,
      split,
      evaluated,
      windows,
      draws,
      seed,
    };
    const result = await evaluatedLists(source, request);
    print(json ? JSON.stringify({ policy: id, currency, repeated: source.repeated, ...result }) : listReport(id, result, source));
    return;
  }
  const policy = action === undefined ? descriptorOf(id, own, source) : always(action, source);
  const { window, goals, reward, maturity, decisions: log } = source;
  const bar = countingBar("evaluated");
  const request = {
    log,
    policy,
    asOf: asOf ?? source.completeUntil,
    window,
    goals,
    reward,
    maturity,
    split,
    evaluated,
    windows,
    draws,
    seed,
    progress: bar.update,
  };
  const evaluation = await evaluate(request).finally(bar.stop);
  const name = action === undefined ? id : `always ${action}`;
  const whole = { policy: name, currency, leftOut: Object.fromEntries(source.leftOut), repeated: source.repeated, ...evaluation };
  print(json ? JSON.stringify(whole) : report(name, source, evaluation));
}

function optionsOf(text: string): Record<string, unknown> {
  try {
    const options = JSON.parse(text);
    if (options !== null && typeof options === "object" && !Array.isArray(options)) return options;
  } catch {}
  throw new UsageError(`--options: expected a JSON object, got ${text}`);
}

/** @throws {UsageError} at a time before the first decision, or after the end of the log. */
function checkAsOf(asOf: number, { decisions, end, maturity }: Source): void {
  let first = Number.POSITIVE_INFINITY;
  for (let i = 0; i < decisions.length; i++) first = Math.min(first, decisions.at(i)?.shownAt as number);
  if (asOf < first) throw new UsageError(`--as-of: expected a time from the first decision on, ${iso(first)}, got ${iso(asOf)}`);
  // A log with a given maturity has no later conversions. Without the time of the export, the end is 0.
  if (maturity || end === 0 || asOf <= end) return;
  throw new UsageError(`--as-of: expected a time up to the end of the log, ${iso(end)}, got ${iso(asOf)}: later conversions are unknown`);
}

/** Every column but the longest one, `features`: candidates are encoded from the catalogue again. */
const READ = COLUMNS.map(({ name }) => name).filter((name) => name !== "features");

async function sourceOf(file: string, asked: Pick<SourceOptions, "asOf" | "lists">, folder: string | undefined): Promise<Source> {
  const bars = countingBars("events checked", "events read");
  const [checked, progress] = bars.updates;
  const options = { ...asked, checked, progress };
  const read = async () => {
    if (/\.csv(\.gz)?$/.test(file)) return banditSource(file, options);
    if (statSync(file).isDirectory()) {
      const archive = await archiveIn(file);
      return lineSource(() => withHead(headOf(archive), archive.lines(READ)), options);
    }
    const archive = folder === undefined ? undefined : await archiveIn(folder);
    const log = () => linesOf(textLines(file), { receipts: false });
    return lineSource(archive ? () => wholeLog(archive, withRows(archive, log()), READ) : log, options);
  };
  const source = await read().finally(bars.stop);
  if (source.decisions.length > 0) return source;
  const reasons = Array.from(source.leftOut, ([why, count]) => `${count} ${why}`).join(", ");
  throw new SourceError(`${file}: expected at least one decision that can be evaluated, got none${reasons && `; left out: ${reasons}`}`);
}

async function* withHead(head: HeadLine, lines: AsyncIterable<EventLine>): AsyncGenerator<HeadLine | EventLine> {
  yield head;
  yield* lines;
}

/** The lines of a log, whose head names the archived files and now counts their rows too. */
async function* withRows(archive: ArchivedLog, log: AsyncIterable<HeadLine | EventLine>): AsyncGenerator<HeadLine | EventLine> {
  for await (const line of log) {
    if (line.type !== "model") {
      yield line;
      continue;
    }
    const forgotten = archive.before(line);
    await forgotten.check(line);
    yield { ...line, lines: line.lines + forgotten.rows };
  }
}

/** The policy with its options, and with the log's dimension if it takes one and `options` has none. */
function descriptorOf(id: string, options: Record<string, unknown>, { dimension }: Source) {
  const factory = policies.find((each) => each.id === id) as PolicyFactory<object> | undefined;
  if (!factory) throw new UsageError(`--policy: expected one of ${policies.map((each) => each.id).join(", ")}, got ${id}`);
  if ("dimension" in options) return factory(options);
  try {
    return factory({ dimension, ...options });
  } catch {
    // The policy may take no dimension. Any other error occurs again here.
    return factory(options);
  }
}

/** The policy that always takes an action, by its index in each decision. */
function always(action: string, { decisions }: Source) {
  let number = 0;
  while (number < decisions.length && decisions.at(number)?.indexOf(action) === undefined) number++;
  if (number === decisions.length) throw new UsageError(`--action: expected a candidate of the log, got ${action}`);
  return (decision: LoggedDecision): number => {
    const index = (decision as SourceDecision).indexOf(action);
    if (index !== undefined) return index;
    throw new UsageError(`--action: expected a candidate of every decision, but ${action} was none at ${iso(decision.shownAt)}`);
  };
}

const whole = new Intl.NumberFormat("en");
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const iso = (time: number): string => new Date(time).toISOString();
/** A mean weight above this is no chance with fifty effective decisions. */
const MOST_WEIGHT = 1.5;

function report(name: string, { leftOut, goals, repeated, window, completeUntil, end }: Source, evaluation: Evaluation): string {
  const { decisions, immature, weights, support, asOf, since, withinMs, delaysDiffer, capped } = evaluation;
  return [
    `${name}, impressions since ${iso(since)}, as of ${iso(asOf)}`,
    ...lateLines({ asOf, completeUntil, end }),
    `  ${whole.format(decisions.learnt)} decisions for learning, ${whole.format(decisions.evaluated)} evaluated, ${whole.format(decisions.tooYoung)} too young`,
    ...Array.from(leftOut, ([why, count]) => `  ${whole.format(count)} left out: ${why}`),
    ...repeatedLines(repeated),
    `  ${percent.format(immature.decisions)} of the evaluated decisions may still convert; ${percent.format(immature.conversions)} of all conversions are still expected`,
    `  weights: mean ${shown(weights.mean)}, maximum ${shown(weights.greatest)}, effective sample size ${whole.format(Math.round(weights.effective))}`,
    `  support: the log could have taken ${percent.format(support)} of this policy's choices`,
    ...(support < 1 ? ["  warning: the intervals reach as far as the rewards of the other choices can be"] : []),
    ...(weights.mean > MOST_WEIGHT && weights.effective > 50
      ? ["  warning: the mean weight should be 1; the logged probabilities are not those with which the actions were chosen"]
      : []),
    ...rewardUnit(goals),
    ...(delaysDiffer.byProduct ? ["  delays differ between actions, and each action is weighed by its own"] : []),
    ...(delaysDiffer.byTime
      ? ["  warning: delays differ between the older and the younger half of the log; --windows closed needs no law of them"]
      : []),
    ...withinLines(withinMs, { goals, window }),
    "",
    `${"reward per decision".padEnd(22)}${"estimate".padStart(10)}    95 % interval`,
    ...figureRows(evaluation),
    ...(capped ? ["", `with rewards of at most ${shown(capped.cap)}, as a few great ones say too little`, ...figureRows(capped)] : []),
  ].join("\n");
}

const figureRows = ({ logged, ips, snips, doublyRobust }: NonNullable<Evaluation["capped"]> | Evaluation): string[] => [
  figureRow("the log's own policy", logged),
  figureRow("IPS", ips),
  figureRow("self-normalised IPS", snips),
  figureRow("doubly robust", doublyRobust),
];

export const run = prepared({
  name: "evaluate",
  usage,
  options,
  argument: "file EVENTS",
  known: [SourceError, LogError, LogMismatch, ArchiveError, UnsupportedError, TypeError, RangeError],
  explain: unreadable,
  run: main,
});
