import { runInDurableObject } from "cloudflare:test";
import { type PolicyFactory, policies, Recommender } from "afterclick";
import { expect } from "vitest";
import { isAssigned, UNASSIGNED } from "../../../worker/domain/figures/holdout-share.ts";
import { productGroup } from "../../../worker/domain/figures/product-group.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { addedGroups } from "../../../worker/rpc/model-counts.ts";
import { type Converted, expectCounted } from "../../property/worker/first-conversions.ts";
import { armsOf } from "../../support/logs/arms.ts";
import { call, describeModel, learnerOf } from "./client.ts";

// Derives counts and digest from a model's event log, by its own rules. Tests compare them with the worker's.

// biome-ignore lint/suspicious/noExplicitAny: what a test reads of a line, it also checks.
export type Line = Readonly<Record<string, any>>;

/** All lines of a model's log, or those after an event. The first line is the head. */
export async function logOf(model: string, after = 0): Promise<Line[]> {
  const { body } = await call("GET", `/v1/models/${model}/events?after=${after}`);
  return linesOf(body);
}

export const linesOf = (text: string): Line[] =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const { receipt: _, ...fields } = JSON.parse(line);
      return fields;
    });

const isLive = ({ type, state }: Line) => type === "impression" && state === "live";
/** Whether a line is a conversion that counts. */
export const counts = ({ type, status }: Line) => type === "conversion" && (status === "applied" || status === "conflict");

/** Outcome of an impression's conversions: 0 and not converted if all are retracted, undefined before the first. Delays need `shownAt`. */
export function outcomeOf(conversions: readonly Line[], goals: Readonly<Record<string, { weight: number }>> | null, shownAt = 0) {
  if (conversions.every(({ reward }) => !reward)) return undefined;
  const rank = ({ at, event, reward }: Line) => [at, event, reward ?? Number.NEGATIVE_INFINITY];
  const before = (a: Line, b: Line) => rank(a).findIndex((value, i) => value !== rank(b)[i]);
  const outranks = (a: Line, b: Line) => {
    const place = before(a, b);
    return place >= 0 && rank(a)[place] > rank(b)[place];
  };
  // A 0 takes back the earlier rewards of its own name, and says nothing else.
  const zeros = conversions.filter(({ reward }) => reward === 0);
  const isTakenBack = (each: Line) =>
    each.reward === 0 || zeros.some((zero) => zero.goal === each.goal && zero.event === each.event && outranks(zero, each));
  const standing = conversions.filter((each) => each.reward === null || !isTakenBack(each));
  const winners = Array.from(Map.groupBy(standing, ({ goal }) => goal).values(), (ofGoal) =>
    ofGoal.reduce((best, each) => (outranks(each, best) ? each : best)),
  );
  const counted = winners.filter(({ reward }) => reward !== null);
  const total = counted.reduce((sum, { goal, reward }) => sum + Math.trunc((goals?.[goal].weight ?? 1) * reward * 4096) / 4096, 0);
  const reached = counted.map(({ goal, reward }) => {
    const times = conversions.flatMap((each) => (each.goal === goal && each.reward ? [each.at] : []));
    return [goal, { reward, delay: Math.max(Math.min(...times) - shownAt, 0) }] as const;
  });
  const delay = reached.length > 0 ? Math.min(...reached.map(([, { delay }]) => delay)) : undefined;
  const converted = counted.some(({ goal }) => goals?.[goal].weight !== 0);
  // An impression that has only reached goals without a weight may still convert.
  return { total, converted, retracted: counted.length === 0, reached: Object.fromEntries(reached), delay };
}

/** The counts of a description that follow from a log alone. */
export function countsOf([head, ...lines]: readonly Line[]) {
  const conversions = Map.groupBy(lines.filter(counts), ({ impression }) => impression);
  const outcomes = lines.filter(isLive).map(({ id }) => outcomeOf(conversions.get(id) ?? [], head.config.goals));
  const withStatus = (wanted: string) =>
    lines.filter(({ type, status, reward }) => type === "conversion" && status === wanted && reward !== 0).length;
  return {
    impressions: outcomes.length,
    converted: outcomes.filter((each) => each?.converted === true).length,
    retracted: outcomes.filter((each) => each?.retracted).length,
    applied: withStatus("applied"),
    conflict: withStatus("conflict"),
    late: withStatus("late"),
    orphan: withStatus("orphan"),
  };
}

/** Checks that the model's counts and digest follow from its log. */
export async function expectConsistent(model: string): Promise<void> {
  const [lines, { digest, counts }] = [await logOf(model), await describeModel(model)];
  expect(counts).toMatchObject(countsOf(lines));
  expect(counts.impressions).toBe(counts.pending + counts.converted + counts.retracted + counts.expired);
  expect(digest).toBe(await foldedDigest(lines));
  await expectDelays(model, lines);
  await expectArms(model, lines);
  await expectTallies(model, lines);
}

/** Checks that the sums over the steps of time follow from a log of which nothing was forgotten. */
async function expectTallies(model: string, [{ config }, ...lines]: readonly Line[]): Promise<void> {
  const conversions = Map.groupBy(lines.filter(counts), ({ impression }) => impression);
  const outcomes = lines.filter(isLive).map(({ id }) => outcomeOf(conversions.get(id) ?? [], config.goals));
  const expected = {
    impressions: outcomes.length,
    observed: outcomes.filter((each) => each && (each.converted || each.retracted)).length,
    converted: outcomes.filter((each) => each?.converted).length,
  };
  await runInDurableObject(learnerOf(model), (_, { storage }) => {
    const store = new LearnerStore(storage);
    if (store.model.horizon > store.model.generation) return;
    const steps = store.tallies.stepsSince(0);
    const sum = (name: "impressions" | "observed" | "converted") => steps.reduce((total, step) => total + step[name], 0);
    expect({ impressions: sum("impressions"), observed: sum("observed"), converted: sum("converted") }).toEqual(expected);
    const groups = Object.groupBy(lines.filter(isLive), ({ action }) => productGroup(action));
    expect(addedGroups(steps.map((step) => step.groups))).toEqual(
      Object.fromEntries(Object.entries(groups).map(([group, own = []]) => [group, own.length])),
    );
  });
}

/** Checks that the learner counts the lists of a log, and the goals that they have reached, as `compare` does. */
export async function expectArms(model: string, lines: readonly Line[]): Promise<void> {
  const texts = lines.map((line) => JSON.stringify(line));
  const { counts, goals, end } = await armsOf(texts);
  await runInDurableObject(learnerOf(model), (_, { storage }) => {
    const store = new LearnerStore(storage);
    const { arms, reached } = store.arms.counts(store.model.config, end);
    const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(Object.entries(row).toSorted())).toSorted();
    const ofGoals = reached.filter(({ goal }) => goals.includes(goal));
    expect([sorted(arms), sorted(ofGoals)]).toEqual([sorted(counts.arms), sorted(counts.reached)]);
  });
}

/** Checks that the learner has counted the first conversions of a log. */
export async function expectDelays(model: string, [{ config }, ...lines]: readonly Line[]): Promise<void> {
  const declared = lines.filter((line) => counts(line) && (!config.goals || Object.hasOwn(config.goals, line.goal)));
  const conversions = Map.groupBy(declared, ({ impression }) => impression);
  const converted = lines.filter(isLive).map(({ id, shownAt, action, arm: own, decision }): Converted => {
    const arm = isAssigned({ action, decision }) ? own : UNASSIGNED;
    const { reached = {} } = outcomeOf(conversions.get(id) ?? [], config.goals, shownAt) ?? {};
    return {
      shownAt,
      action,
      arm,
      delays: Object.fromEntries(Object.entries<{ delay: number }>(reached).map(([goal, { delay }]) => [goal, delay])),
    };
  });
  await runInDurableObject(learnerOf(model), (_, { storage }) => expectCounted(new LearnerStore(storage), converted, config));
}

/** The digest of a recommender that learns a log, line by line. */
export async function foldedDigest([{ config }, ...lines]: readonly Line[]): Promise<string> {
  const { policy: id, options, window, reward, seed, goals } = config;
  const factory = policies.find((each) => each.id === id) as unknown as PolicyFactory<object>;
  const declared = Object.entries((goals ?? {}) as Record<string, Line>).map(([name, { public: _, ...goal }]) => [name, goal]);
  const { policy } = await Recommender.create({
    policy: factory(options),
    ...{ window, reward, seed },
    ...(goals && { goals: Object.fromEntries(declared) }),
  });
  type Shown = ReturnType<typeof policy.append>;
  const shown = new Map<string, { impression: Shown; conversions: Line[]; learnt?: NonNullable<ReturnType<typeof outcomeOf>> }>();
  for (const line of lines) {
    if (isLive(line)) {
      const { id, action, features, round, shownAt: now } = line;
      const impression = policy.append({ ...(policy.dimension > 0 && { features }), action, round, now });
      shown.set(id, { impression, conversions: [] });
    } else if (counts(line)) {
      const known = shown.get(line.impression);
      if (!known) throw new Error(`a conversion that counts stands before its impression ${line.impression}`);
      const { impression, conversions, learnt: before } = known;
      conversions.push(line);
      const after = outcomeOf(conversions, goals, impression.now);
      if (after === undefined) continue;
      policy.observe({
        ...{ impression, reward: after.total, goals: { before: before?.reached ?? {}, after: after.reached } },
        ...(before && { previous: before.total }),
        delay: { before: before?.delay, after: after.delay },
      });
      known.learnt = after;
    }
  }
  return policy.digest();
}
