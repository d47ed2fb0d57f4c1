import { draw } from "../replay/plan.ts";

// What happens in a soak, from its seed alone: who converts and how, and what the network does to each request.

export interface Plan {
  readonly seed: number;
  readonly recommendations: number;
  readonly conversions: number;
  readonly windowMs: number;
}

/** What a shop reports of one impression. Times are ms after it was shown. */
export interface Report {
  readonly type: "conversion" | "conversion.updated" | "conversion.retracted";
  /** Null: retracted. */
  readonly reward: number | null;
  readonly happensAfter: number;
  /** Null: not before the books of its impression are closed. */
  readonly sentAfter: number | null;
  /** Sent once more under the same webhook-id, although it was taken. */
  readonly repeated: boolean;
}

/** What becomes of a request on its way. */
export interface Fault {
  /** Its connection is cut: before the worker hears of it, or before its answer is heard. */
  readonly cut: "before" | "after" | null;
  readonly delayMs: number;
  /** After so many ms the worker gets it once more; null: it does not. */
  readonly echoMs: number | null;
}

/** Sums of these are exact, in any order. */
const REWARDS = [1, 0.75, 0.5, 0.25];
/** Shares of the converting impressions; the others convert once, in time. */
const COURSES = { restated: 0.1, retracted: 0.1, late: 0.05, belated: 0.03 };
const REPEATED_SHARE = 0.1;
/** In windows: the longest delay of a conversion that is in time, and how much later it is changed. */
const LONGEST_DELAY = 0.5;
const LONGEST_CHANGE = 0.2;
/** In windows: when a late conversion happens. */
const LATENESS = { min: 1.05, max: 1.3 };
/** How late a report is sent: long enough for a change to be sent before what it changes. */
const LONGEST_POST_MS = 3000;

const CUT_SHARE = 0.02;
const DELAYED_SHARE = 0.1;
const LONGEST_HOLD_MS = 500;
const ECHO_SHARE = 0.05;

/** Whether a recommendation's first impression converts: just as many do as the plan says, spread evenly. */
export function converts({ recommendations, conversions }: Plan, index: number): boolean {
  return Math.floor(((index + 1) * conversions) / recommendations) > Math.floor((index * conversions) / recommendations);
}

/** The reports on a converting impression, in the order in which they happen, which need not be that of their sending. */
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

/** @param request its name, the same whenever it is sent. @param attempt 0, 1, ...: the third always comes through. */
export function faultOf(seed: number, request: string, attempt: number): Fault {
  const of = (what: string) => draw(seed, `${what} ${request}`, attempt);
  const cut = of("cut");
  return {
    cut: attempt >= 2 || cut >= 2 * CUT_SHARE ? null : cut < CUT_SHARE ? "before" : "after",
    delayMs: of("delayed") < DELAYED_SHARE ? Math.floor(of("hold") * LONGEST_HOLD_MS) : 0,
    echoMs: of("echo") < ECHO_SHARE ? Math.floor(of("echo after") * LONGEST_HOLD_MS) : null,
  };
}
