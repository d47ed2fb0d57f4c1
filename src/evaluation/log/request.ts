// The options that every evaluation of a log takes, and their checks.

import { type Goals, parseGoals } from "../../ledger/goals.ts";
import type { PolicyDescriptor } from "../../policy/rule.ts";
import { finiteNumber, oneOf, onlyKeys, outOfRange, positiveNumber, range, record } from "../../values/argument.ts";

/** How long after its impression a conversion still counts. */
export type LogWindow = { readonly ms: number } | "none";

/** Request that evaluates a policy on a log. `Given`: a function that gives the policy's probabilities. */
export interface PolicyRequest<Given> {
  /** The policy to evaluate: a descriptor, which learns from the first part of the log, or a function that gives its probabilities. */
  readonly policy: PolicyDescriptor | Given;
  /** Time of the evaluation, in ms since 1970. Later events are ignored. */
  readonly asOf: number;
  /** How long after its impression a conversion still counts. */
  readonly window: LogWindow;
  /** Share of the log from which policy and reward model learn. The rest evaluates them. Default 0.5. */
  readonly split?: number;
  /**
   * The part of the log that is evaluated, default "younger". With "older", policy and reward model learn the younger part, and the windows
   * of the evaluated one have mostly closed. A learning policy then knows what came later.
   */
  readonly evaluated?: "younger" | "older";
  /** "closed" leaves out all impressions with an open window. The figures then need no law of delays. Default "all". */
  readonly windows?: "all" | "closed";
  /**
   * The goals of conversions, as `RecommenderOptions.goals`: their weights, windows, order and amounts. The policy learns them too.
   * Default: any goal is taken, and rewards add up.
   */
  readonly goals?: Goals;
  /** Range of the reward of a decision, or of an item of a list. With `goals`: of one conversion, before its weight. Default 0 to 1. */
  readonly reward?: { readonly min: number; readonly max: number };
  /** Samples from which a sampling policy computes its probabilities, default 100. */
  readonly draws?: number;
  /** Seed of the policy, default 0. */
  readonly seed?: number;
  /** Probability that a conversion of a goal has come by an age in ms, if it comes. Default: estimated from the log, for each goal. */
  readonly maturity?: (ageMs: number, goal: string) => number;
  /** A compiled core, for hosts that bring their own. */
  readonly module?: WebAssembly.Module;
}

const KNOWN = [
  "log",
  "policy",
  "asOf",
  "window",
  "split",
  "goals",
  "reward",
  "draws",
  "seed",
  "maturity",
  "module",
  "evaluated",
  "windows",
];

/** Checks what all evaluations ask for. `others`: the request's own options. @throws {TypeError | RangeError} naming the option. */
export function checked<Given>(request: PolicyRequest<Given>, others: readonly string[]) {
  onlyKeys("request", record("request", request), [...KNOWN, ...others]);
  if (request.goals !== undefined) parseGoals(request.goals, request.window);
  const closed = oneOf("windows", request.windows ?? "all", ["all", "closed"]) === "closed";
  if (closed && request.window === "none") throw outOfRange("windows", '"all" with window "none", as no window closes', "closed");
  return {
    asOf: finiteNumber("asOf", request.asOf, 0),
    windowMs: windowMsOf(request.window),
    closed,
    older: oneOf("evaluated", request.evaluated ?? "younger", ["younger", "older"]) === "older",
    split: finiteNumber("split", request.split ?? 0.5, 0, 1),
    reward: range("reward", request.reward ?? { min: 0, max: 1 }),
  };
}

/** Length of a window. @throws {TypeError | RangeError} naming the option. */
export function windowMsOf(window: LogWindow): number {
  if (window === "none") return Number.POSITIVE_INFINITY;
  onlyKeys("window", record("window", window), ["ms"]);
  return positiveNumber("window.ms", window.ms);
}
