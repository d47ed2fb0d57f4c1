// The traffic and the faults of a soak. All follow from one seed and the names of the requests.

import { draw } from "../../cli/replay/plan.ts";

export interface Plan {
  readonly seed: number;
  readonly recommendations: number;
  readonly conversions: number;
  readonly windowMs: number;
}

/** A shop's report on one impression. Times are ms after the impression. */
export interface Report {
  readonly type: "conversion" | "conversion.updated" | "conversion.retracted";
  /** Null if retracted. */
  readonly reward: number | null;
  readonly happensAfter: number;
  /** Null if the report is sent only after the bucket of the impression has closed. */
  readonly sentAfter: number | null;
  /** Whether it is sent again with the same webhook-id after the worker has taken it. */
  readonly repeated: boolean;
}

/** The network's faults on one request. */
export interface Fault {
  /** Cuts the connection before the worker gets the request, or before the client gets the answer. */
  readonly cut: "before" | "after" | null;
  readonly delayMs: number;
  /** The worker gets the request again after this many ms. Null if it does not. */
  readonly echoMs: number | null;
}

/** Possible rewards. Their sums are exact in any order. */
const REWARDS = [1, 0.75, 0.5, 0.25];
/** Shares of the converting impressions. The others convert once, in time. */
const COURSES = { restated: 0.1, retracted: 0.1, late: 0.05, belated: 0.03 };
const REPEATED_SHARE = 0.1;
/** Longest delay of a conversion in time, in windows. */
const LONGEST_DELAY = 0.5;
/** Longest time from a conversion to its change, in windows. */
const LONGEST_CHANGE = 0.2;
/** Delay of a late conversion, in windows. */
const LATENESS = { min: 1.05, max: 1.3 };
/** Longest time until a report is sent. It is long enough that a change may be sent before the original. */
const LONGEST_POST_MS = 3000;

const CUT_SHARE = 0.02;
const DELAYED_SHARE = 0.1;
const LONGEST_HOLD_MS = 500;
const ECHO_SHARE = 0.05;

/** Whether a recommendation's first impression converts. Exactly `conversions` of them do, evenly spread. */
export function converts({ recommendations, conversions }: Plan, index: number): boolean {
  return Math.floor(((index + 1) * conversions) / recommendations) > Math.floor((index * conversions) / recommendations);
}

/** The reports on a converting impression, in the order of their events. They may be sent in another order. */
export function reportsOf({ seed, windowMs }: Plan, index: number): readonly Report[] {
  const of = (what: string) => draw(seed, what, index);
  const report = (type: Report["type"], happens: number, reward: number | null): Report => ({
    type,
    reward,
    happensAfter: Math.floor(happens * windowMs),
    sentAfter: Math.floor(happens * windowMs + of(`post ${type}`) * LONGEST_POST_MS),
    repeated: of(`repeated ${type}`) < REPEATED_SHARE,
  });
  const reward = REWARDS[Math.floor(of("reward") * REWARDS.length)];
  const happens = of("happens") * LONGEST_DELAY;
  const changes = happens + of("changes") * LONGEST_CHANGE;
  const first = report("conversion", happens, reward);
  switch (courseOf(of("course"))) {
    case "restated":
      return [first, report("conversion.updated", changes, REWARDS[Math.floor(of("restated") * REWARDS.length)])];
    case "retracted":
      return [first, report("conversion.retracted", changes, null)];
    case "late":
      return [report("conversion", LATENESS.min + of("lateness") * (LATENESS.max - LATENESS.min), reward)];
    case "belated":
      return [{ ...first, sentAfter: null }];
    default:
      return [first];
  }
}

function courseOf(u: number): keyof typeof COURSES | "once" {
  let below = 0;
  for (const [course, share] of Object.entries(COURSES)) {
    below += share;
    if (u < below) return course as keyof typeof COURSES;
  }
  return "once";
}

/** @param request name of the request, the same for all attempts. @param attempt 0, 1, ... From 2 on, attempts are never cut. */
export function faultOf(seed: number, request: string, attempt: number): Fault {
  const of = (what: string) => draw(seed, `${what} ${request}`, attempt);
  const cut = of("cut");
  return {
    cut: attempt >= 2 || cut >= 2 * CUT_SHARE ? null : cut < CUT_SHARE ? "before" : "after",
    delayMs: of("delayed") < DELAYED_SHARE ? Math.floor(of("hold") * LONGEST_HOLD_MS) : 0,
    echoMs: of("echo") < ECHO_SHARE ? Math.floor(of("echo after") * LONGEST_HOLD_MS) : null,
  };
}
