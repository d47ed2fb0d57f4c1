// Decides when a conversion counts. It knows no policy: what a change of reward teaches is decided there.

import { isInMs, type Moment, spanOf, type Window } from "../model/delay/window.ts";
import type { GoalChange, GoalOutcomes, LearntGoal } from "../model/goals/goal.ts";
import type { AppendedImpression, ReportedDelay } from "../model/posterior.ts";
import { boundedNumbers, finiteNumber } from "../values/argument.ts";
import { SnapshotError } from "../values/errors.ts";
import { counted, malformed, type SnapshotReader, type SnapshotWriter } from "../values/snapshot.ts";
import { checkConversionTime } from "./conversion-time.ts";
import { compareEvents, firstDelay, type GoalEvent, outcomesOf } from "./goal-outcomes.ts";
import { totalOf } from "./goals.ts";

/** The result of delivering a conversion. */
export type ConversionStatus = "applied" | "duplicate" | "late" | "unknown" | "conflict";

/** "retracted": the policy observed a reward, but all conversions that count were retracted. */
export type ImpressionStatus = "pending" | "converted" | "expired" | "retracted";

/** An event of a remembered impression. Its time is 0 if the window is not in ms and none was given. */
export interface Conversion extends GoalEvent {
  /** Round of its arrival, if the window is in rounds and goals are declared. */
  readonly round?: number;
}

/** A remembered impression, with its features and conversions. */
export interface Impression extends AppendedImpression {
  readonly id: string;
  /** Every distinct event so far, sorted by goal, time, event id, reward and whether it restates. The last event of each goal counts. */
  conversions: Conversion[];
  /** The reward that the policy observed: the sum over goals. Absent before the first one, 0 after all are retracted. */
  reward?: number;
}

/** The reward of an impression before and after a conversion, with the status of that. */
export interface RewardChange {
  readonly status: ConversionStatus;
  /** The impression's `reward` before and after. */
  readonly previous?: number;
  readonly reward?: number;
  /** Time from the impression to the first conversion that counts, before and after the event. */
  readonly delay?: ReportedDelay;
  /** The goals of the impression, if goals are declared. */
  readonly goals?: GoalChange;
}

/** Kinds of saved events, beside 0 of a reward. */
const RETRACTS = 1;
const RESTATES = 2;
/** Earlier than any time. */
const NEVER = Number.MIN_SAFE_INTEGER;

/**
 * The remembered impressions, by id. This class alone decides whether a conversion is late, a duplicate or unknown.
 *
 * An impression is remembered for its window and the grace after it. Until then a conversion inside the window counts even if it is
 * delivered after the window, and a later conversion is "late". Afterwards the impression is forgotten, and its id is "unknown".
 */
export class Ledger {
  readonly #inMs: boolean;
  /** Greatest age of an impression at which a conversion counts, and at which the impression is remembered. */
  readonly #span: number;
  readonly #memory: number;
  /** Added to an age in rounds. */
  readonly #delayOffset: number;
  readonly #goals: readonly LearntGoal[] | undefined;
  readonly #countsZeros: boolean;
  /** All impressions of the queue, forgotten ones too. */
  #byId = new Map<string, Impression>();
  /** In order of time. Impressions [0, forgotten) are forgotten, [forgotten, closed) have a closed window, the rest an open one. */
  #queue: Impression[] = [];
  #closed = 0;
  #forgotten = 0;
  /** The latest round and time. They never decrease. */
  #round = 0;
  #now = NEVER;

  /** @param countsZeros whether a reward of 0 counts as any other. By default it says what silence says. */
  constructor(window: Window, delayOffset: 0 | 1, goals?: readonly LearntGoal[], countsZeros = false) {
    const span = spanOf(window);
    this.#inMs = isInMs(window);
    this.#span = span;
    this.#memory = span + (window === "none" ? 0 : (window.grace ?? span));
    this.#delayOffset = this.#inMs ? 0 : delayOffset;
    this.#goals = goals;
    this.#countsZeros = countsZeros;
  }

  get(id: string): Impression | undefined {
    const impression = this.#byId.get(id);
    return impression && this.#age(impression) <= this.#memory ? impression : undefined;
  }

  /** The number of remembered impressions by status. **Cost:** linear in their number. */
  counts(): Record<ImpressionStatus, number> {
    const counts = { pending: 0, converted: 0, expired: 0, retracted: 0 };
    for (let i = this.#forgotten; i < this.#queue.length; i++) counts[this.status(this.#queue[i])]++;
    return counts;
  }

  status(impression: Impression): ImpressionStatus {
    if (this.#rewardOf(this.#outcomes(impression)) !== undefined) return "converted";
    if (impression.reward !== undefined) return "retracted";
    return this.#age(impression) > this.#span ? "expired" : "pending";
  }

  #time(moment: Moment): number {
    return this.#inMs ? (moment.now as number) : moment.round;
  }

  #age(impression: Impression, at = this.#inMs ? this.#now : this.#round): number {
    return at - this.#time(impression) + this.#delayOffset;
  }

  register(id: string, { features, slot, round, now }: AppendedImpression, conversions: Conversion[] = [], reward?: number): void {
    const impression =
      now === undefined ? { id, features, slot, round, conversions, reward } : { id, features, slot, round, now, conversions, reward };
    this.#byId.set(id, impression);
    this.#insert(impression);
  }

  #insert(impression: Impression): void {
    // Nearly every impression is the latest. One that is registered later finds its place in order of time.
    let place = this.#queue.length;
    while (place > this.#forgotten && this.#time(this.#queue[place - 1]) > this.#time(impression)) place--;
    if (place === this.#queue.length) this.#queue.push(impression);
    else this.#queue.splice(place, 0, impression);
    if (place < this.#closed) this.#closed++;
  }

  /** Advances the clock, closes windows, and forgets old impressions. Returns the number of windows closed without a conversion. */
  advance(moment: Moment): number {
    this.#round = Math.max(moment.round, this.#round);
    this.#now = Math.max(moment.now ?? NEVER, this.#now);
    let expired = 0;
    for (; this.#closed < this.#queue.length && this.#age(this.#queue[this.#closed]) > this.#span; this.#closed++) {
      if (this.#queue[this.#closed].reward === undefined) expired++;
    }
    for (; this.#forgotten < this.#closed && this.#age(this.#queue[this.#forgotten]) > this.#memory; ) this.#forgotten++;
    if (this.#forgotten > 1024 && 2 * this.#forgotten > this.#queue.length) this.#compact();
    return expired;
  }

  /**
   * Releases forgotten impressions, with a new map instead of deletions. A map with many additions and deletions replaces its
   * table again and again. Each old table refers to the next one, so forgotten impressions would survive many garbage collections.
   */
  #compact(): void {
    this.#queue = this.#queue.slice(this.#forgotten);
    this.#byId = new Map();
    for (const impression of this.#queue) this.#byId.set(impression.id, impression);
    this.#closed -= this.#forgotten;
    this.#forgotten = 0;
  }

  /**
   * Takes a conversion. The order of arrival does not change the final rewards. `observe` gets a changed reward before anything else
   * changes: if it throws, the conversion has not arrived. @throws {RangeError} if the conversion lies long before the impression.
   */
  convert(id: string, conversion: Conversion, observe: (impression: Impression, change: RewardChange) => void): RewardChange {
    const impression = this.get(id);
    if (!impression) return { status: "unknown" };
    if (this.#inMs) checkConversionTime("at", conversion.at, impression.now as number);
    const previous = impression.reward;
    if (this.#age(impression, this.#inMs ? conversion.at : this.#round) > this.#spanOf(conversion.goal)) {
      return { status: "late", previous, reward: previous };
    }
    if (!this.#goals && impression.conversions.length === 0) return this.#convertFirst(impression, conversion, observe);
    let conflict = false;
    for (const known of impression.conversions) {
      if (known.goal !== conversion.goal || known.eventId !== conversion.eventId) continue;
      if (known.at === conversion.at && known.reward === conversion.reward && known.restates === conversion.restates)
        return { status: "duplicate", previous, reward: previous };
      // A 0 contradicts nothing: it says nothing, or takes the event back.
      conflict ||= !this.#isZero(known) && !this.#isZero(conversion);
    }
    const arrived = this.#goals && !this.#inMs ? { ...conversion, round: this.#round } : conversion;
    const conversions = [...impression.conversions, arrived];
    if (conversions.length > 1) conversions.sort(compareEvents);
    const [before, after] = [this.#outcomes(impression), this.#outcomes({ ...impression, conversions })];
    const reward = this.#observedReward(after, conversions);
    const change: RewardChange = {
      status: conflict ? "conflict" : "applied",
      previous,
      reward,
      // With a window in rounds, the time of a conversion is not kept: the first one arrives now.
      ...(this.#inMs && { delay: { before: firstDelay(before), after: firstDelay(after) } }),
      ...(this.#goals && { goals: { before, after } }),
    };
    const changed = reward !== previous || change.delay?.before !== change.delay?.after;
    if (reward !== undefined && (changed || (this.#goals && !isSame(before, after)))) observe(impression, change);
    impression.conversions = conversions;
    impression.reward = reward;
    return change;
  }

  /** The first event of an impression without declared goals: the usual one, which needs no lists of outcomes. */
  #convertFirst(impression: Impression, conversion: Conversion, observe: (impression: Impression, change: RewardChange) => void) {
    const reward = this.#firstReward(conversion);
    const common = { status: "applied", previous: undefined, reward } as const;
    const after = reward === undefined ? undefined : Math.max(conversion.at - (impression.now as number), 0);
    const change: RewardChange = this.#inMs ? { ...common, delay: { before: undefined, after } } : common;
    if (reward !== undefined) observe(impression, change);
    impression.conversions = [conversion];
    impression.reward = reward;
    return change;
  }

  /** The reward of an impression without declared goals by its only event. */
  #firstReward(conversion: Conversion): number | undefined {
    return this.#isZero(conversion) ? undefined : (conversion.reward ?? undefined);
  }

  /** Whether an event has the reward that silence has. */
  #isZero({ reward }: Conversion): boolean {
    return reward === 0 && !this.#countsZeros;
  }

  /** Greatest age at which a conversion of a goal counts. */
  #spanOf(name: string): number {
    const goal = this.#goals?.find((each) => each.name === name);
    return goal ? spanOf(goal.window) : this.#span;
  }

  #hasAmounts(goal: string): boolean {
    return this.#goals?.some(({ name, value }) => name === goal && value) ?? false;
  }

  /** The goals that an impression has reached. */
  #outcomes({ round, now, conversions }: Pick<Impression, "round" | "now" | "conversions">): GoalOutcomes {
    return outcomesOf(conversions, {
      delayOf: (each) => (this.#inMs ? each.at - (now as number) : (each.round ?? round) - round),
      hasAmounts: (goal) => this.#hasAmounts(goal),
      isZero: (each) => this.#isZero(each),
    });
  }

  /** The value of the goals that an impression has reached. Undefined if there are none. */
  #rewardOf(outcomes: GoalOutcomes): number | undefined {
    const reached = Object.values(outcomes);
    if (reached.length === 0) return undefined;
    if (this.#goals) return totalOf(outcomes, this.#goals);
    const rewards = reached.map(({ reward }) => reward).sort((a, b) => a - b);
    return rewards.reduce((sum, reward) => sum + reward, 0);
  }

  /**
   * The reward for the policy to observe: 0 if all conversions are retracted. A retraction that arrives before its conversion has no
   * effect until the conversion arrives. The policy then observes 0, as in the other order.
   */
  #observedReward(outcomes: GoalOutcomes, conversions: readonly Conversion[]): number | undefined {
    const converts = (each: Conversion): boolean =>
      each.reward !== null && !this.#isZero(each) && (each.reward > 0 || !this.#hasAmounts(each.goal));
    return this.#rewardOf(outcomes) ?? (conversions.some(converts) ? 0 : undefined);
  }

  /**
   * Takes the impressions that another ledger with the same window in ms remembers. All are then in order of time and id, and numbered by
   * the rounds of both. @throws {SnapshotError} code `differs` for an impression that both have.
   */
  merge(other: Ledger): void {
    const added = other.#queue.slice(other.#forgotten);
    for (const { id } of added) {
      if (this.#byId.has(id))
        throw new SnapshotError("differs", `expected each impression in one snapshot, got ${JSON.stringify(id)} in two`);
    }
    this.#queue = [...this.#queue.slice(this.#forgotten), ...added];
    [this.#closed, this.#forgotten] = [0, 0];
    this.#round += other.#round;
    this.#now = Math.max(this.#now, other.#now);
  }

  /** Puts impressions in order of time and id, and numbers them by the last rounds. For a window in ms, where rounds have no meaning. */
  refactor(): void {
    this.#queue.sort((a, b) => this.#time(a) - this.#time(b) || (a.id < b.id ? -1 : 1));
    const first = this.#round - this.#queue.length + 1;
    this.#queue = this.#queue.map((each, i) => ({ ...each, round: Math.max(first + i, 1) }));
    this.#compact();
    this.advance({ round: this.#round, now: this.#now });
  }

  save(writer: SnapshotWriter): void {
    const kept = this.#queue.slice(this.#forgotten);
    const places = new Map<string, number>();
    const place = (name: string): number => {
      if (!places.has(name)) places.set(name, places.size);
      return places.get(name) as number;
    };
    const shown: number[] = [];
    const events: number[] = [];
    kept.forEach((impression, i) => {
      shown.push(impression.slot, impression.round, impression.now ?? NEVER);
      for (const { goal, eventId, at, reward, restates } of impression.conversions) {
        events.push(i, place(goal), place(eventId), at, reward ?? 0, reward === null ? RETRACTS : restates ? RESTATES : 0);
      }
    });
    writer.numbers([this.#round, this.#now]);
    writer.json(kept.map(({ id }) => id));
    writer.numbers(shown);
    writer.json([...places.keys()]);
    writer.numbers(events);
    const dimension = kept[0]?.features.length ?? 0;
    const features = new Float64Array(kept.length * dimension);
    kept.forEach((impression, i) => {
      features.set(impression.features, i * dimension);
    });
    writer.numbers(features);
    if (this.#goals && !this.#inMs) writer.numbers(kept.flatMap(({ conversions }) => conversions.map((each) => each.round ?? 0)));
  }

  /** `latest`: the round of the recommender. `check` throws unless a goal may have a reward. */
  load(reader: SnapshotReader, dimension: number, latest: number, check: (goal: string, reward: number) => void): void {
    const [round, now] = reader.numbers(2);
    counted("round", round, latest);
    checkTime(now);
    const ids = reader.texts();
    const shown = reader.numbers(3 * ids.length);
    const names = reader.texts();
    const conversions = conversionsOf(reader.view(), names, ids.length);
    for (const { goal, reward } of conversions.flat()) if (reward !== null) check(goal, reward);
    const features = boundedNumbers("features", reader.numbers(ids.length * dimension));
    if (this.#goals && !this.#inMs) withRounds(conversions, reader.numbers(), latest);
    ids.forEach((id, i) => {
      const slot = shown[3 * i];
      const shownRound = shown[3 * i + 1];
      const shownAt = shown[3 * i + 2];
      if (this.#byId.has(id) || (this.#inMs && shownAt === NEVER)) throw malformed();
      counted("round", shownRound, latest, 1);
      checkTime(shownAt);
      // Each impression then finds its place at the end.
      const before = this.#queue.at(-1);
      if (before && this.#time(before) > (this.#inMs ? shownAt : shownRound)) throw malformed();
      const own = features.subarray(i * dimension, (i + 1) * dimension);
      const shownNow = shownAt === NEVER ? undefined : shownAt;
      const moment = { round: shownRound, now: shownNow };
      const events = conversions[i].sort(compareEvents);
      this.register(id, { features: own, slot, ...moment }, events, this.#rewardAfter(moment, events));
    });
    this.advance({ round, now });
  }

  /** The reward that the policy has observed by these events of an impression. */
  #rewardAfter({ round, now }: Moment, conversions: Conversion[]): number | undefined {
    // As in `#convertFirst`.
    if (!this.#goals && conversions.length <= 1) return conversions[0] && this.#firstReward(conversions[0]);
    return this.#observedReward(this.#outcomes({ round, now, conversions }), conversions);
  }
}

/** Checks a time in ms from a snapshot, or `NEVER`. */
function checkTime(time: number): void {
  if (time !== NEVER) finiteNumber("time", time, 0, Number.MAX_SAFE_INTEGER);
}

/** The conversions of each of `count` impressions. A row of `events`: impression, goal, event id, time, reward, kind. */
function conversionsOf(events: Float64Array, names: readonly string[], count: number): Conversion[][] {
  const conversions = Array.from({ length: count }, (): Conversion[] => []);
  for (let row = 0; row < events.length; row += 6) {
    const [goal, eventId] = [names[events[row + 1]], names[events[row + 2]]];
    if (goal === undefined || eventId === undefined) throw malformed();
    const conversion = { goal, eventId, at: events[row + 3], reward: events[row + 5] === RETRACTS ? null : events[row + 4] };
    conversions[events[row]].push(events[row + 5] === RESTATES ? { ...conversion, restates: true } : conversion);
  }
  return conversions;
}

/** Puts the rounds of arrival, in the order of the conversions, into them. */
function withRounds(conversions: Conversion[][], rounds: Float64Array, latest: number): void {
  if (rounds.length !== conversions.reduce((sum, { length }) => sum + length, 0)) throw malformed();
  let at = 0;
  for (const each of conversions) {
    for (const [i, conversion] of each.entries()) each[i] = { ...conversion, round: counted("round", rounds[at++], latest) };
  }
}

function isSame(a: GoalOutcomes, b: GoalOutcomes): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((name) => a[name].reward === b[name]?.reward && a[name].delay === b[name]?.delay)
  );
}
