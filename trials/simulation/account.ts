// The shop's own account of what it did, and the laws that the worker's answers and log must keep.

import { type PolicyFactory, policies, Recommender } from "afterclick";
import { shownAtOf } from "../../worker/domain/ids/uuid.ts";
import type { Description } from "../../worker/rpc/message.ts";
import type { Sale, Shop, Shown } from "./shop.ts";
import type { World } from "./world.ts";

/** A line's place in the log, which is in the order of the learner's changes. */
interface Placed {
  readonly place: number;
}

interface ImpressionLine extends Placed {
  readonly type: "impression";
  readonly id: string;
  readonly state: "live" | "deferred" | "void";
  readonly features: readonly number[];
  /** The reward that the policy has learnt. */
  readonly reward: number | null;
}

interface ConversionLine extends Placed, Omit<Sale, "impression" | "answers"> {
  readonly type: "conversion";
  readonly impression: string;
  readonly status: string;
  readonly restates?: true;
}

interface MarkLine extends Placed {
  readonly type: "mark";
  readonly mark: string;
}

/** The learner's description and log. */
export interface LearnerExport {
  readonly description: Description;
  readonly impressions: readonly ImpressionLine[];
  readonly conversions: readonly ConversionLine[];
  readonly marks: readonly MarkLine[];
}

/** @param log the answer to `GET /v1/models/:model/events`. */
export function exportOf(description: Description, log: string): LearnerExport {
  const lines = log
    .trim()
    .split("\n")
    .map((line, place) => ({ ...JSON.parse(line), place }) as ImpressionLine | ConversionLine | MarkLine);
  const { impression = [], conversion = [], mark = [] } = Object.groupBy(lines, ({ type }) => type);
  return {
    description,
    impressions: impression as ImpressionLine[],
    conversions: conversion as ConversionLine[],
    marks: mark as MarkLine[],
  };
}

/**
 * Compares the learner's state with the shop's record after all buckets are closed. Accepted = joined + late + orphan, and each
 * conversion is in exactly one class. The digest equals that of a recommender that learns the joined ones offline.
 *
 * @returns the differences.
 */
export async function account(shop: Shop, world: World, exported: LearnerExport): Promise<string[]> {
  const wrong = [...impressionsOf(shop, world, exported), ...conversionsOf(shop, exported), ...countsOf(exported), ...rewardsOf(exported)];
  const digest = await fold(exported);
  if (digest !== exported.description.digest)
    wrong.push(`digest: expected ${digest} by the offline fold, got ${exported.description.digest}`);
  return wrong;
}

function impressionsOf(shop: Shop, world: World, { impressions, description }: LearnerExport): string[] {
  const logged = new Map(impressions.map((line) => [line.id, line]));
  const known = new Set(shop.shown.map(({ id }) => id));
  const absent = shop.shown.filter(({ id, deferred }) => !deferred && !logged.has(id));
  const forgotten = absent.filter(({ registered }) => registered);
  // A living isolate has registered all that it showed, unless its learner refused. A learner that decides itself registers at once.
  const lives = ({ edge }: Shown): boolean =>
    edge !== undefined && (description.serving === "learner" || world.edges.deaths(edge.place) === edge.deaths);
  const unregistered = absent.filter((shown) => !shown.registered && lives(shown));
  // A shard that has not heard its part of the limits yet keeps nothing.
  const { refused, dropped, unsampled } = description.incidents;
  const foreign = impressions.filter(({ id }) => !known.has(id));
  return [
    ...forgotten.map(({ id }) => `impression ${id} was answered and is not registered`),
    ...(unregistered.length > refused + dropped + unsampled
      ? [`${unregistered.map(({ id }) => id)} are not registered, though their isolates live`]
      : []),
    ...(foreign.length > shop.unknown ? [`${foreign.length} impressions are registered that nobody asked for`] : []),
    ...impressions.filter(({ state }) => state === "deferred").map(({ id }) => `${id} is deferred, although its bucket is closed`),
  ];
}

/** Names an event, including its content. */
export function key({ impression, goal, event, reward, at }: Omit<Sale, "answers">): string {
  return JSON.stringify([impression, goal, event, reward, at]);
}

function conversionsOf(shop: Shop, { impressions, conversions, marks }: LearnerExport): string[] {
  const registered = new Map(impressions.map((line) => [line.id, line]));
  const keyed = new Set(shop.sales.filter(({ impression }) => impression === null).map(({ event }) => event));
  // The learner decides which impression a key joins.
  const logged = Map.groupBy(conversions, (line) => key(keyed.has(line.event) ? { ...line, impression: null } : line));
  const sent = Map.groupBy(shop.sales, key);
  const wrong = Array.from(logged.keys()).flatMap((name) => (sent.has(name) ? [] : `${name} was never sent`));
  for (const [name, rows] of logged) {
    // Events that a rollback undid may be sent again. So may those that were late because their impression was undone.
    const standing = rows.filter(({ status }) => status !== "void" && status !== "late");
    if (standing.length > 1) wrong.push(`${name} is there ${standing.length} times`);
  }
  const rollbacks = marks.filter(({ mark }) => mark === "rollback");
  for (const [name, sales] of sent) {
    // The earliest time of each answer.
    const answers = new Map(sales.flatMap(({ answers }) => [...answers]).sort(([, a], [, b]) => b - a));
    const rows = logged.get(name) ?? [];
    const line = rows.at(-1);
    const impression = line?.impression ?? sales[0].impression;
    // A keyed conversion that found no impression came after the window of all that its key had.
    const alone = sales[0].impression === null && !registered.has(impression ?? "");
    const inTime = impression !== null && !alone && sales[0].at - shownAtOf(impression) <= shop.windowMs;
    const { state, place = 0 } = registered.get(impression ?? "") ?? {};
    // An event is late while a rollback has undone its impression. The impression may be registered again afterwards.
    const undone = state === "void" || rollbacks.some((rollback) => line && rollback.place < line.place && line.place < place);
    // An event that a rollback undid is entered again by a later request.
    const enteredBy = (rows.length > 1 ? answers.get("late") : undefined) ?? Math.min(...answers.values());
    const closed = impression !== null && enteredBy >= closing(shownAtOf(impression), shop.windowMs);
    const fate = fateOf({
      status: line?.status,
      keyed: sales[0].impression === null,
      inTime,
      live: state === "live",
      undone,
      closed,
      answers,
      rolledBack: rollbacks.length > 0,
    });
    if (fate) wrong.push(`${name}, answered ${Array.from(answers.keys()).join(" and ") || "never"}: ${fate}`);
  }
  return wrong;
}

/** Length of a bucket for each window of a simulation, and the grace after it. Computed by hand. */
const BUCKETS: Readonly<Record<number, number>> = { 600000: 150_000, 7200000: 1_800_000, 14400000: 3_600_000 };
const GRACE_MS = 300_000;

/** Closing time of the bucket of an impression. Before this time no delivery is late. */
export function closing(shownAt: number, windowMs: number): number {
  return (Math.floor(shownAt / BUCKETS[windowMs]) + 1) * BUCKETS[windowMs] + windowMs + GRACE_MS;
}

interface Case {
  /** Undefined if the log lacks the event. */
  readonly status: string | undefined;
  /** Whether it names a key, and no impression. */
  readonly keyed: boolean;
  readonly inTime: boolean;
  readonly live: boolean;
  /** Whether a rollback had undone the impression when the event came. */
  readonly undone: boolean;
  /** Whether the bucket may have been closed when the event was entered. */
  readonly closed: boolean;
  readonly answers: ReadonlyMap<string, number>;
  readonly rolledBack: boolean;
}

/** Errors in the status of a conversion. */
function fateOf({ status, keyed, inTime, live, undone, closed, answers, rolledBack }: Case): string | undefined {
  const wasLate = answers.has("late") && !rolledBack;
  if (wasLate && status !== "late") return `called late, and in the log as ${status ?? "nothing"}`;
  if (status === "late" && inTime && !closed && !undone) return "late, though it came in time";
  const joined = status === "applied" || status === "conflict";
  if (joined && !inTime) return "joined, though it came after the window";
  if (joined && !live) return "joined without its impression";
  if (joined && wasLate) return "joined, though it was called late";
  // If the newest list of a key has several products, an event without a product is refused. A later list may have one.
  if (joined && answers.has("refused") && !keyed) return "joined, though it was refused";
  if (answers.has("unknown")) return "its model was not known";
  const taken = ["accepted", "applied", "conflict", "orphan"].some((answer) => answers.has(answer));
  if (status === undefined && (taken || answers.has("duplicate"))) return "accepted, and lost";
  // The first answer to a repeated event may have been lost.
  if (!taken || answers.has("late")) return undefined;
  if (status === "void") return rolledBack ? undefined : "void without a rollback";
  if (live && inTime && !joined && !rolledBack) return `accepted, and not joined but ${status}`;
  return undefined;
}

function countsOf({ description: { counts, incidents }, impressions, conversions }: LearnerExport): string[] {
  // No figure has a silent event.
  const says = ({ reward, restates }: ConversionLine): boolean => reward !== 0 || restates === true;
  const rows = (status: string): number => conversions.filter((line) => line.status === status && says(line)).length;
  const live = impressions.filter(({ state }) => state === "live").length;
  const pairs = [
    ["applied", rows("applied"), counts.applied],
    ["conflict", rows("conflict"), counts.conflict],
    ["orphan", rows("orphan"), counts.orphan],
    ["late", rows("late"), counts.late],
    ["impressions", live, counts.impressions],
    ["pending", 0, counts.pending],
    ["missed", 0, incidents.missed],
  ] as const;
  return pairs
    .filter(([, expected, counted]) => expected !== counted)
    .map(([name, expected, counted]) => `${name}: ${expected} of them and a count of ${counted}`);
}

function rewardsOf({ description, impressions, conversions }: LearnerExport): string[] {
  const byImpression = Map.groupBy(conversions, ({ impression }) => impression);
  return impressions.flatMap(({ id, state, reward }) => {
    const total = totalOf(byImpression.get(id) ?? [], description.goals);
    return state !== "live" || total === reward ? [] : `${id} has the reward ${reward} instead of ${total}`;
  });
}

/** The digest of a recommender that learns the log. */
async function fold({ description, impressions, conversions }: LearnerExport): Promise<string> {
  const factory = policies.find(({ id }) => id === description.policy) as unknown as PolicyFactory<object>;
  const { window, reward, goals, seed } = description;
  const { policy } = await Recommender.create({ policy: factory(description.options), window, reward, ...(goals && { goals }), seed });
  const byImpression = Map.groupBy(conversions, ({ impression }) => impression);
  for (const { id, state, features, reward } of impressions) {
    if (state !== "live") continue;
    const shownAt = shownAtOf(id);
    const impression = policy.append({ features: Float64Array.from(features), round: policy.impressions + 1, now: shownAt });
    if (reward === null) continue;
    const reached = reachedBy(byImpression.get(id) ?? [], shownAt);
    const delays = Object.values(reached).map(({ delay }) => delay);
    const delay = { after: delays.length > 0 ? Math.min(...delays) : undefined };
    policy.observe({ impression, reward, delay, goals: { before: {}, after: reached } });
  }
  return policy.digest();
}

/** The reward of each goal that counts, and the time to its first event with a reward. */
function reachedBy(conversions: readonly ConversionLine[], shownAt: number): Record<string, { reward: number; delay: number }> {
  const reached = winnersOf(conversions).flatMap(({ goal, reward }) => {
    if (reward === null) return [];
    const times = joinedOf(conversions).flatMap((each) => (each.goal === goal && each.reward ? [each.at] : []));
    return [[goal, { reward, delay: Math.max(Math.min(...times) - shownAt, 0) }] as const];
  });
  return Object.fromEntries(reached);
}

/**
 * The total reward by the rule alone: the greatest (time, event, reward) counts for each goal. A retraction is the least reward.
 * Null before the first conversion that is no retraction.
 */
function totalOf(conversions: readonly ConversionLine[], goals: Description["goals"]): number | null {
  if (joinedOf(conversions).every(({ reward }) => !reward)) return null;
  return winnersOf(conversions).reduce((sum, { goal, reward }) => sum + (goals?.[goal].weight ?? 1) * (reward ?? 0), 0);
}

const joinedOf = (conversions: readonly ConversionLine[]) =>
  conversions.filter(({ status }) => status === "applied" || status === "conflict");

/** A 0 takes back the earlier rewards of its own name, or of its goal if it restates, and says nothing else. */
function standingOf(conversions: readonly ConversionLine[]): ConversionLine[] {
  const joined = joinedOf(conversions);
  const isTakenBack = (each: ConversionLine) =>
    each.reward === 0 ||
    joined.some((zero) => zero.reward === 0 && zero.goal === each.goal && zero.event === each.event && byRank(zero, each) > 0);
  return joined.flatMap((each) => {
    if (each.reward === 0 && each.restates) return [{ ...each, reward: null }];
    return each.reward !== null && isTakenBack(each) ? [] : [each];
  });
}

function winnersOf(conversions: readonly ConversionLine[]): ConversionLine[] {
  const goals = Map.groupBy(standingOf(conversions), ({ goal }) => goal);
  return Array.from(goals.values(), (each) => each.sort(byRank).at(-1) as ConversionLine);
}

function byRank(a: ConversionLine, b: ConversionLine): number {
  const order = a.at - b.at || (a.event < b.event ? -1 : Number(a.event > b.event));
  return order || (a.reward ?? Number.NEGATIVE_INFINITY) - (b.reward ?? Number.NEGATIVE_INFINITY);
}
