import { expect, it } from "vitest";
import { Alarm, Calm } from "../../../../pages/dashboard/alarm.tsx";
import { DelayOf } from "../../../../pages/dashboard/delay.tsx";
import { Estimated, ExaminationOf } from "../../../../pages/dashboard/examination.tsx";
import { ExplanationOf } from "../../../../pages/dashboard/explanation.tsx";
import { Figures } from "../../../../pages/dashboard/figures.tsx";
import { Ages, Delays } from "../../../../pages/dashboard/histogram.tsx";
import { LiftOf } from "../../../../pages/dashboard/lift.tsx";
import { Rate } from "../../../../pages/dashboard/rate.tsx";
import { Recents } from "../../../../pages/dashboard/recents.tsx";
import { SignIn } from "../../../../pages/dashboard/sign-in.tsx";
import { Regret } from "../../../../pages/shop/regret.tsx";
import { Chart } from "../../../../pages/ui/chart.tsx";
import type { Explanation } from "../../../../worker/protocol/answers.ts";
import type { Bar, Bucket, Delay, Examination, GoalLift, Lift, Metrics } from "../../../../worker/protocol/metrics-answer.ts";
import { busy, examined, explained, idle } from "../../../browser/report.ts";
import { drawn } from "../../../support/markup.ts";
import { type State, saysAsWritten } from "./state.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const few = (more: number, of: string) => ({ tooFew: { more, of } });
const of = (more: object) => ({ metrics: { ...busy, ...more } as Metrics });

/** States of the metrics, each of which changes some of the usual ones. */
const all = (states: Readonly<Record<string, object>>) =>
  Object.fromEntries(Object.entries(states).map(([name, more]) => [name, of(more)]));

function silences(): Record<string, State> {
  const silence = { since: busy.now - 8_640_000, expected: 14.3, chance: 6.2e-7, alarm: true };
  const silent = { ...busy.delay, silence } as Delay;
  const goal = (name: string, delay: unknown) => ({ goal: name, windowMs: DAY_MS, currency: null, delay });
  const goals = [goal("click", busy.delay), goal("cart", null)];
  const others = {
    "by no chance": { delay: { ...silent, silence: { ...silence, chance: 0 } } },
    "of one goal": { goals: [...goals, goal("purchase", silent)] },
    "of all goals together": { delay: silent, goals },
    "of no goal": { goals },
    none: {},
    "before the first conversion": { delay: null },
  };
  return {
    "a silence": { component: Alarm, usual: of({ delay: silent }), others: all(others) },
    "a silence of simulated visitors": {
      component: Calm,
      usual: of({ delay: silent }),
      others: all({ none: {}, "of one goal": others["of one goal"] }),
    },
  };
}

function figures(): Record<string, State> {
  const days = [
    { day: "2026-11-28", orders: 1057, attributed: 0 },
    { day: "2026-11-27", orders: 40, attributed: 30 },
  ];
  const senders = [
    { sender: "shopify", days, finding: "0 of 1057 orders: see docs/senders.md" },
    { sender: "erp", days: days.slice(1), finding: null },
  ];
  const others = all({
    "of an idle model": idle,
    "with a lag of zero": { lagMs: 0 },
    "with distinct products": { encoding: { dimension: 256, exact: 34, shared: 2, alike: [] } },
    "with senders": { senders },
    "after a change": { change: { since: busy.now - 36 * HOUR_MS, probability: 0.934 } },
    "before a change": { change: { since: busy.now + 5000, probability: 0.5 } },
  });
  return { "the figures": { component: Figures, usual: of({}), others } };
}

function lifts(): Record<string, State> {
  const lift = busy.lift as Lift;
  const [goal] = lift.goals;
  const lifted = (more: Partial<GoalLift>) => of({ lift: { ...lift, goals: [{ ...goal, ...more }] } });
  const between = (low: number, value: number, high: number) => lifted({ difference: { value, low, high } });
  const shares = [
    { holdout: 0.5, lists: { policy: 9, holdout: 9 }, compared: true },
    { holdout: 0, lists: { policy: 9, holdout: 0 }, compared: false },
  ];
  const others = {
    "that is worse": lifted({ difference: { value: -0.01, low: -0.02, high: -0.001 }, relative: -0.2 }),
    "from zero": between(0, 0.01, 0.05),
    "to zero, of a small share": between(-0.0002, 0.0003, 0),
    "without rates": lifted({ relative: null, policy: { ...goal.policy, rate: null } }),
    "of zero": lifted({ relative: 0 }),
    "of conversions that are reported late": lifted({ completeUntil: busy.now - 16 * HOUR_MS }),
    "with too few conversions": lifted({ difference: few(12, "converted lists of the arm that has fewer") }),
    "without a holdout": of({ lift: null }),
    "of amounts, in two shares, before the window ends": lifted({ currency: "EUR", shares, withinMs: 3 * HOUR_MS }),
    "of closed windows": lifted({ basis: "closed windows" }),
    "of two goals": of({ lift: { ...lift, unassigned: 7, goals: [goal, { ...goal, goal: "click" }] } }),
  };
  return { "the lift": { component: LiftOf, usual: lifted({}), others } };
}

function examinations(): Record<string, State> {
  const states = (more: Partial<Examination>) => ({ examination: { ...examined, ...more } });
  const models = "models" in examined.clickModels ? examined.clickModels.models : [];
  const best = (name: "no-bias" | "item-position", more: Partial<Examination> = {}) =>
    states({ clickModels: { best: name, models }, ...more });
  const lacking = few(12, "conversions");
  const others = {
    "without weights in the model": states({ configured: null }),
    "with weights by item": best("item-position"),
    "with no bias": best("no-bias"),
    "with no bias and without weights": best("no-bias", { configured: null }),
    "with too few conversions": states({ clickModels: lacking, examination: lacking }),
    "with too few at one place": states({ examination: few(3, "conversions at this place or the first") }),
    "without random lists": states({ lists: 0, since: null, places: [] }),
  };
  return {
    "the examination of places": { component: Estimated, usual: { model: "shop", examination: examined }, others },
    "the examination of places at first": { component: ExaminationOf, usual: { source: { examination: () => {} }, model: "shop" } },
  };
}

function explanations(): Record<string, State> {
  const now = explained.shownAt + HOUR_MS;
  const decision = explained.decision as NonNullable<Explanation["decision"]>;
  const states = (more: object) => ({ explanation: { ...explained, ...more } });
  const decided = (more: object, arm = explained.arm) => states({ arm, decision: { ...decision, ...more } });
  const pinned = (action: string, place: number) => ({
    asked: {
      pin: [
        { action: "mug", place: 0 },
        { action, place },
      ],
    },
  });
  const interval = { mean: 0.2, average: 0.25, low: 0.1, high: 0.3 };
  const money = { mean: 40, average: 50, low: 20, high: 60 };
  const at = explained.shownAt + 60_000;
  const candidates = Array.from({ length: 20 }, (_, i) => ({
    id: `c${i}`,
    belief: { mean: i / 10, average: 1, low: 0, high: 2 },
    score: i / 10,
  }));
  const believed = (id: string, low: number | null, score: number) => ({
    id,
    belief: { mean: 0.5, average: low && 0.625, low, high: low && 0.75 },
    score,
  });
  const unsure = [
    ...[believed("boots", 0.25, 1), believed("hat", null, 0.5), { id: "socks", belief: null, score: 0 }],
    { id: "scarf", belief: { mean: 0.25, average: 0.125, low: null, high: null, ...few(3, "amounts") }, score: 0.25 },
  ];
  const others = {
    "in another place": decided({ place: 2, candidates: 1 }),
    "in its own domain, of unknown chance": decided({ candidates: null, probability: undefined }),
    "of the holdout": states({ arm: "holdout" }),
    "by default": states({ arm: "default" }),
    "while learning again": states({ arm: "catalogue" }),
    "of another system": states({ decision: null }),
    pinned: decided(pinned("boots", 0)),
    "pinned in the holdout, and moved up": decided(pinned("boots", 4), "holdout"),
    "beside another pinned one": decided(pinned("other", 0)),
    pending: states({ status: "pending", reward: null, windowEndsAt: now + 60_000, conversions: [] }),
    "pending at the end of its window": states({ status: "pending", reward: null, windowEndsAt: now }),
    expired: states({ status: "expired", windowEndsAt: now + 1, conversions: [] }),
    deferred: states({ status: "deferred", reward: null, conversions: [] }),
    "with a retracted reward": states({ conversions: [{ goal: "basket", reward: null, at, status: "applied" }] }),
    "by goal, in a currency": states({
      ...{ reward: 70, currency: "EUR", currencies: { purchase: "EUR" } },
      conversions: [{ goal: "purchase", reward: -30, currency: "EUR", at, status: "applied" }],
      now: {
        ...money,
        factors: [
          { goal: "click", ...interval },
          { goal: "purchase", after: "click", ...interval },
          { goal: "purchase", amount: true, clipped: 1, clippedSum: 900, ...money },
          { goal: "basket", amount: true, ...money },
        ],
      },
    }),
    "without a belief": states({ now: null }),
    "among many": states({ action: "c1", candidates }),
    "among unsure ones": states({ candidates: unsure }),
    "among none": states({ candidates: [] }),
    "beside another model": { beside: "blog" },
    "beside its own model": { beside: explained.model },
  };
  return { "an explanation": { component: ExplanationOf, usual: { explanation: explained, now }, others } };
}

function delays(): Record<string, State> {
  const delay = busy.delay as Delay;
  const unknown = few(12, "conversions whose window has closed");
  const distribution = [
    { delayMs: 1000, probability: 0.25, low: 0.125, high: 0.5, stillConverts: unknown },
    { delayMs: HOUR_MS, probability: 1, low: 1, high: 1, stillConverts: unknown },
  ];
  const young = { distribution, followedMs: HOUR_MS, window95Ms: unknown };
  const none = { conversions: 0, distribution: [], rate: 0, rateInterval: [0, 0.002], toCome: 0, toComeInterval: [0, 3] };
  const windows = [1, 3, 7].map((days) => ({ windowMs: days * DAY_MS, caught: days / 7, low: days / 8, high: 1, rate: days / 100 }));
  const without = {
    quantiles: [{ share: 0.5, delayMs: unknown }],
    windows: [{ ...windows[0], windowMs: HOUR_MS, caught: unknown, rate: unknown }],
  };
  const goal = (name: string, windowMs: number, more: object | null) => ({
    goal: name,
    windowMs,
    currency: null,
    delay: more && { ...delay, ...more },
  });
  const goals = [
    goal("click", HOUR_MS, { followedMs: HOUR_MS, window95Ms: 90_000, quantiles: [] }),
    goal("purchase", 7 * DAY_MS, { windows, followedMs: 7 * DAY_MS, window95Ms: 6.5 * DAY_MS }),
    goal("cart", DAY_MS, null),
    goal("order", DAY_MS, { ...young, ...without }),
  ];
  const amounts = { currency: "EUR", orders: 1234, refunds: 56, paid: 98_000, refunded: 4000, net: 94_000 };
  const reached = [
    { goal: "click", weight: 0, converted: 4000, rateSoFar: 0.15, amounts: null },
    { goal: "purchase", weight: 1, converted: 1200, rateSoFar: null, amounts },
  ];
  const at = (window95Ms: number) => ({ delay: { ...delay, window95Ms } });
  const others = all({
    "in nine tenths of the window": at(0.9 * busy.windowMs),
    "in more than nine tenths": at(0.9 * busy.windowMs + 1),
    "ahead of the clock": { delay: { ...delay, silence: { ...delay.silence, since: busy.now + 5000 } } },
    "of a young model": { delay: { ...delay, ...young, ...without } },
    "before the first conversion": { delay: null },
    "without a conversion so far": { delay: { ...delay, ...none } },
    "of goals": { goals },
    "of goals that were reached": { goals, reached },
    "of a long window": { goals: goals.slice(1) },
    "of a goal without conversions": { goals: [goals[2]] },
    "of a declared list without goals": { goals: [] },
    "that are reported late, with the time of the report": {
      delay: { ...busy.delay, completeUntil: busy.now - 16 * HOUR_MS, reportTime: 2.25 * HOUR_MS },
    },
    "of less than a week, with the time of the report": {
      delay: { ...delay, ...young, distribution: [], window95Ms: few(9, "days"), reportTime: 0 },
    },
  });
  return { "the delays": { component: DelayOf, usual: of({}), others } };
}

function histograms(): Record<string, State> {
  const bars = (counts: number[], last: number | null = counts.length): Bar[] =>
    counts.map((count, i) => ({ fromMs: i * HOUR_MS, toMs: i + 1 === counts.length && last === null ? null : (i + 1) * HOUR_MS, count }));
  return {
    "the ages of pending impressions": {
      component: Ages,
      usual: of({ pendingByAge: bars([10, 30, 30, 0]) }),
      others: all({ "where nothing is pending": idle }),
    },
    "the delays of conversions": {
      component: Delays,
      usual: of({ delays: bars([0, 4, 0, 6, 0]) }),
      others: all({ "without an end": { delays: bars([1, 2], null) }, "without a conversion": idle }),
    },
  };
}

function rates(): Record<string, State> {
  const bucket = (hour: number, arm: Bucket["arm"], impressions: number, converted: number, closed: boolean): Bucket => ({
    ...{ start: busy.now + hour * HOUR_MS, arm, impressions, converted, reward: converted, closed },
  });
  const buckets = [
    bucket(1, "policy", 10, 1, true),
    bucket(0, "policy", 20, 5, true),
    bucket(2, "policy", 10, 3, false),
    bucket(1, "holdout", 4, 1, true),
    bucket(2, "holdout", 0, 0, false),
  ];
  const apart = (hours: number) => ({ buckets: [bucket(0, "policy", 10, 1, true), bucket(hours, "policy", 10, 2, true)] });
  const others = all({
    "in seconds": { buckets, bucketMs: 59_999 },
    "in minutes": { buckets, bucketMs: 60_000 },
    "of closed buckets": { buckets: [bucket(0, "default", 10, 1, true)] },
    "of open buckets": { buckets: [bucket(0, "policy", 10, 1, false)] },
    "with a bridged gap": apart(3),
    "with a gap": apart(4),
    "before the first impression": idle,
  });
  return { "the rate": { component: Rate, usual: of({ buckets, bucketMs: HOUR_MS }), others } };
}

function recents(): Record<string, State> {
  const recent = Array.from({ length: 12 }, (_, i) => ({
    ...busy.recent[0],
    impressionId: `i/${i}`,
    action: `a${i}`,
    shownAt: busy.now - i * 999 - 1,
  }));
  return { "the newest impressions": { component: Recents, usual: { ...of({ recent }), chosen: "i/2" }, others: { none: of(idle) } } };
}

function regrets(): Record<string, State> {
  const after = (count: number, visitorsLeft = 0) => {
    const visits = Array.from({ length: count }, (_, i) => ({ favourite: false, model: (i + 1) / 4, uniform: (i + 1) / 2 }));
    return { session: { visits, visitorsLeft } };
  };
  const others = { "after ten": after(10), "after one": after(1, 8), "before the first": after(0) };
  return { "the purchases missed": { component: Regret, usual: after(23), others } };
}

const chart = {
  ...{ id: "sales", title: "Sales", summary: "They grow.", legend: [{ mark: "policy", name: "orders" }], data: [[1], [2]] },
  ...{ plot: () => ({}), describe: () => "Day 1", table: () => ({ columns: ["Day"], rows: [["1"]] }) },
};

saysAsWritten("dashboard", () => ({
  "a chart": { component: Chart, usual: chart },
  ...silences(),
  ...figures(),
  ...lifts(),
  ...examinations(),
  ...explanations(),
  ...delays(),
  ...histograms(),
  ...rates(),
  ...recents(),
  ...regrets(),
  "the sign-in": { component: SignIn, usual: { enter: () => {}, problem: "The worker refused this key." } },
}));

it("a chart without lines has no list of them", () => {
  expect(drawn(Chart, { ...chart, legend: undefined } as never).elements.filter(({ tag }) => tag === "ul")).toEqual([]);
});
