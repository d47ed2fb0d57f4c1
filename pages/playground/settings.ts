// The settings of a match, and their form in the URL's query.
import { contenders } from "./contender.ts";
import { type DelayId, delays } from "./delay.ts";
import type { ProblemId } from "./problem.ts";

export interface Settings {
  readonly problem: ProblemId;
  /** Names of contenders, in the order of their lines and columns. */
  readonly policies: readonly string[];
  readonly delay: DelayId;
  /** Mean or median of the delay, in rounds. */
  readonly typical: number;
  /** In rounds. */
  readonly window: number;
  readonly rounds: number;
  readonly seed: number;
  readonly pace: "fast" | "slow";
}

/** More lines would be hard to tell apart. */
export const MOST_POLICIES = 5;

/** Least and greatest value of each number. */
export const ranges = {
  typical: [1, 10_000],
  window: [1, 20_000],
  rounds: [10, 20_000],
  seed: [0, 999_999_999],
} as const;

const pace = { fast: true, slow: true };

/** Initial settings of each problem. */
export const defaults: Readonly<Record<ProblemId, Settings>> = {
  linear: {
    problem: "linear",
    policies: ["delay-lin-ts", "otf-lin-ucb", "waiting", "uniform"],
    delay: "geometric",
    typical: 100,
    window: 500,
    rounds: 3000,
    seed: 1,
    pace: "fast",
  },
  curve: {
    problem: "curve",
    policies: ["gp-bucb", "gp-ucb-sdf", "waiting", "uniform"],
    delay: "geometric",
    typical: 20,
    window: 100,
    rounds: 1000,
    seed: 1,
    pace: "fast",
  },
};

/** Whether the table has this name. */
function named(table: object, value: string): boolean {
  return Object.hasOwn(table, value);
}

/** The values that a setting takes instead of `value`; empty if the value is valid. */
function expectedOf(name: keyof Settings, value: string, { problem }: Settings): string {
  const oneOf = (table: object): string => (named(table, value) ? "" : `one of ${Object.keys(table).join(", ")}`);
  if (name === "problem") return oneOf(contenders);
  if (name === "delay") return oneOf(delays);
  if (name === "pace") return oneOf(pace);
  if (name === "policies") {
    const [names, table] = [value.split(","), contenders[problem]];
    const good = names.length <= MOST_POLICIES && new Set(names).size === names.length && names.every((each) => named(table, each));
    return good ? "" : `1 to ${MOST_POLICIES} different names of ${Object.keys(table).join(", ")}`;
  }
  const [least, most] = ranges[name];
  const good = /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most;
  return good ? "" : `a whole number from ${least} to ${most}`;
}

/**
 * Parses the query of a URL. Missing and invalid settings get their defaults. `problems` has one text per invalid setting.
 */
export function settingsOf(query: string): { readonly settings: Settings; readonly problems: readonly string[] } {
  const given = new URLSearchParams(query);
  const problems: string[] = [];
  const take = (settings: Settings, name: keyof Settings, value: string): Settings => {
    const expected = expectedOf(name, value, settings);
    if (expected === "") return { ...settings, [name]: name === "policies" ? value.split(",") : name in ranges ? Number(value) : value };
    problems.push(`${name}: expected ${expected}, got “${value.slice(0, 60)}”`);
    return settings;
  };
  // The problem comes first, because it decides which policies exist.
  let settings = defaults.linear;
  const problem = given.get("problem");
  if (problem !== null) settings = defaults[take(settings, "problem", problem).problem];
  for (const [name, value] of given) {
    if (name === "problem") continue;
    if (named(settings, name)) settings = take(settings, name as keyof Settings, value);
    else problems.push(`${name.slice(0, 60)}: unknown setting`);
  }
  return { settings, problems };
}

/** The shares of delays with which an outcome counts: the least and the greatest of the chosen policies. */
export function sharesInTime({ problem, policies, delay, typical, window }: Settings): readonly [least: number, greatest: number] {
  const { cdf } = delays[delay].law(typical);
  const shares = policies.map((each) => cdf(window - (contenders[problem][each].delayOffset ?? 0)));
  return [Math.min(...shares), Math.max(...shares)];
}

/** The query that repeats these settings. It states all of them, so that later defaults change nothing. */
export function queryOf(settings: Settings): string {
  return `?${Object.entries(settings)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(",") : value}`)
    .join("&")}`;
}
