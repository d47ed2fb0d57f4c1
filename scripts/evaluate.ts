// npm run evaluate: estimates a policy's reward from a log of another policy's decisions.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { type Estimate, type Evaluation, evaluate, type LoggedDecision, type PolicyFactory, policies, UnsupportedError } from "afterclick";
import { Presets, SingleBar } from "cli-progress";
import { banditSource } from "./evaluate/bandit-source.ts";
import { eventSource } from "./evaluate/event-source.ts";
import { type Source, SourceError } from "./evaluate/source.ts";
import { LogError } from "./replay/open-bandit.ts";
import { LogMismatch } from "./verify/event-log.ts";

const USAGE = `Estimates the reward that a policy would have earned, from a log of other decisions and their probabilities.

Usage: npm run evaluate -- EVENTS (--policy ID | --action ID) [--options JSON] [--as-of TIME] [--split SHARE]
                                  [--draws N] [--seed N] [--json]

  EVENTS          a model's log from GET /v1/models/:model/events, or an Open Bandit csv or csv.gz
  --policy ID     one of ${policies.map(({ id }) => id).join(", ")}
  --action ID     evaluate the policy that always takes this action
  --options JSON  options of the policy; its dimension defaults to the log's
  --as-of TIME    ignore conversions after this time: ISO 8601 or ms since 1970; default: the end of the log
  --split SHARE   share of decisions, oldest first, that teach the policy and the reward model, with the conversions known by
                  then; the others are evaluated; default 0.5
  --draws N       samples per decision of a sampling policy, default 100
  --seed N        seed of the policy's randomness, default 0
  --json          print the result as JSON`;

class UsageError extends Error {}

async function main(args: string[]): Promise<void> {
  const settings = parseSettings(args);
  if (!settings) return;
  const { file, asOf, split, draws, seed, json } = settings;
  const source = await sourceOf(file, asOf);
  const policy = settings.action === undefined ? descriptorOf(settings.policy, settings.options, source) : always(settings.action, source);
  const { window, reward, decisions: log } = source;
  const bar = barOf("evaluated");
  const request = { log, policy, asOf: asOf ?? source.end, window, reward, split, draws, seed, progress: bar.update };
  const evaluation = await evaluate(request).finally(bar.stop);
  const name = settings.action === undefined ? settings.policy : `always ${settings.action}`;
  const text = json
    ? JSON.stringify({ policy: name, leftOut: Object.fromEntries(source.leftOut), ...evaluation })
    : report(name, source, evaluation);
  console.log(text);
}

function parseSettings(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      policy: { type: "string" },
      action: { type: "string" },
      options: { type: "string", default: "{}" },
      "as-of": { type: "string" },
      split: { type: "string", default: "0.5" },
      draws: { type: "string", default: "100" },
      seed: { type: "string", default: "0" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return void console.log(USAGE);
  if (positionals.length !== 1) throw new UsageError(`expected one file EVENTS, got ${positionals.length}`);
  const { policy = "", action, json } = values;
  if ((policy === "") === (action === undefined))
    throw new UsageError(`expected one of --policy and --action, got ${action === undefined ? "neither" : "both"}`);
  return {
    file: positionals[0],
    policy,
    action,
    options: optionsOf(values.options),
    asOf: values["as-of"] === undefined ? undefined : timeOf(values["as-of"]),
    split: numberIn("--split", values.split, 0, 1),
    draws: numberIn("--draws", values.draws, 1, 10_000),
    seed: numberIn("--seed", values.seed, 0, Number.MAX_SAFE_INTEGER),
    json,
  };
}

function optionsOf(text: string): Record<string, unknown> {
  try {
    const options = JSON.parse(text);
    if (options !== null && typeof options === "object" && !Array.isArray(options)) return options;
  } catch {}
  throw new UsageError(`--options: expected a JSON object, got ${text}`);
}

function timeOf(text: string): number {
  const time = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`--as-of: expected ISO 8601 or ms since 1970, got ${text}`);
  return time;
}

function numberIn(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max) return value;
  throw new UsageError(`${option}: expected a number from ${min} to ${max}, got ${text}`);
}

async function sourceOf(file: string, asOf: number | undefined): Promise<Source> {
  const bar = barOf("read");
  const options = { asOf, progress: bar.update };
  const texts = () => createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  const source = await (/\.csv(\.gz)?$/.test(file) ? banditSource(file, options) : eventSource(texts(), options)).finally(bar.stop);
  if (source.decisions.length > 0) return source;
  const reasons = Array.from(source.leftOut, ([why, count]) => `${count} ${why}`).join(", ");
  throw new SourceError(`${file}: expected at least one decision that can be evaluated, got none${reasons && `; left out: ${reasons}`}`);
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

function always(action: string, { decisions }: Source) {
  if (!decisions.some(({ ids }) => ids.includes(action))) throw new UsageError(`--action: expected a candidate of the log, got ${action}`);
  return (decision: LoggedDecision): number[] => {
    const { ids } = decision as Source["decisions"][number];
    if (!ids.includes(action))
      throw new UsageError(`--action: expected a candidate of every decision, but ${action} was none at ${iso(decision.shownAt)}`);
    return ids.map((id) => Number(id === action));
  };
}

const whole = new Intl.NumberFormat("en");
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const iso = (time: number): string => new Date(time).toISOString();
const shown = (value: number): string => (Number.isFinite(value) ? value.toPrecision(3) : "none");

function report(name: string, { leftOut }: Source, evaluation: Evaluation): string {
  const { decisions, immature, weights, asOf, since, logged, ips, snips, doublyRobust } = evaluation;
  const row = (estimator: string, { value, low, high }: Estimate): string =>
    `${estimator.padEnd(22)}${shown(value).padStart(10)}    ${shown(low)} to ${shown(high)}`;
  const poor = weights.mean < 0.9 && weights.mean + 2 / Math.sqrt(Math.max(weights.effective, 1)) < 1;
  return [
    `${name}, impressions since ${iso(since)}, as of ${iso(asOf)}`,
    `  ${whole.format(decisions.learnt)} decisions for learning, ${whole.format(decisions.evaluated)} evaluated, ${whole.format(decisions.tooYoung)} too young`,
    ...Array.from(leftOut, ([why, count]) => `  ${whole.format(count)} left out: ${why}`),
    `  ${percent.format(immature.decisions)} of the evaluated decisions may still convert; ${percent.format(immature.conversions)} of all conversions are still expected`,
    `  weights: mean ${shown(weights.mean)}, maximum ${shown(weights.greatest)}, effective sample size ${whole.format(Math.round(weights.effective))}`,
    ...(poor ? ["  warning: the log rarely took this policy's actions. IPS misses them, and the other estimators extrapolate"] : []),
    "",
    `${"reward per decision".padEnd(22)}${"estimate".padStart(10)}    95 % interval`,
    row("the log's own policy", logged),
    row("IPS", ips),
    row("self-normalised IPS", snips),
    row("doubly robust", doublyRobust),
  ].join("\n");
}

function barOf(what: string) {
  const format = `{bar} {percentage}% | {value}/{total} ${what} | {eta_formatted} left`;
  const bar = new SingleBar(
    { format, stream: process.stderr, noTTYOutput: true, notTTYSchedule: 10_000, clearOnComplete: true },
    Presets.rect,
  );
  return {
    update(done: number, all: number) {
      if (!bar.isActive) bar.start(all, done);
      bar.setTotal(all);
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
}

function explain(error: Error): string {
  if (error instanceof UsageError || (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS"))
    return `${error.message}\n\n${USAGE}`;
  if (["ENOENT", "EISDIR", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return `Cannot read the log: ${error.message}`;
  const known = [SourceError, LogError, LogMismatch, UnsupportedError, TypeError, RangeError].some((each) => error instanceof each);
  return known ? error.message : (error.stack ?? error.message);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(explain(error as Error));
  process.exit(1);
}
