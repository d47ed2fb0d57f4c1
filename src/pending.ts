import type { Moment, Window } from "./model/delay/window.ts";
import type { AppendedImpression, ReportedDelay } from "./model/posterior.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "./snapshot.ts";

/** What became of a conversion. */
export type ConversionStatus = "applied" | "duplicate" | "late" | "unknown" | "conflict";

/** "retracted": the policy learnt a reward of it, and none counts any more. */
export type ImpressionStatus = "pending" | "converted" | "expired" | "retracted";

export interface Conversion {
  readonly goal: string;
  readonly eventId: string;
  /** When it happened, in ms; 0 unless the window is in ms. */
  readonly at: number;
  /** null retracts the goal. */
  readonly reward: number | null;
}

/** An impression that is remembered, with its features and its conversions. */
export interface Impression extends AppendedImpression {
  readonly id: string;
  /** Every distinct event so far, by goal, time, event id and reward: the last of each goal counts. */
  readonly conversions: Conversion[];
  /** Sum over goals of the rewards that count, as the policy was told: absent before the first, 0 when all are retracted. */
  reward?: number;
}

export interface Registration {
  readonly status: ConversionStatus;
  /** The impression's `reward` before and after. */
  readonly previous?: number;
  readonly reward?: number;
  /** How long after the impression the first conversion of those that count came, before and after. */
  readonly delay?: ReportedDelay;
}

/** Before all time. */
const NEVER = Number.MIN_SAFE_INTEGER;

/**
 * The impressions whose conversions may still come, by id. It alone decides what is late, twice or unknown.
 *
 * An impression stays for its window and the grace after it: a conversion that happened in time but was delivered
 * slowly still counts, one that happened too late is called late. After that it is forgotten, and its id unknown.
 */
export class Pending {
  readonly #inMs: boolean;
  /** How long after its impression a conversion counts, and how long after it the impression is remembered. */
  readonly #span: number;
  readonly #memory: number;
  /** What is added to an age in rounds. */
  readonly #delayOffset: number;
  /** Also of those in [0, forgotten) of the queue. */
  #byId = new Map<string, Impression>();
  // In order of time, so that windows close from the front: [0, closed) are expired or settled, the rest open.
  #queue: Impression[] = [];
  #closed = 0;
  #forgotten = 0;
  /** The latest round and time seen; they never go back. */
  #round = 0;
  #now = NEVER;

  constructor(window: Window, delayOffset: 0 | 1) {
    const span = window === "none" ? Number.MAX_VALUE : "ms" in window ? window.ms : window.rounds;
    this.#inMs = window !== "none" && "ms" in window;
    this.#span = span;
    this.#memory = span + (window === "none" ? 0 : (window.grace ?? span));
    this.#delayOffset = this.#inMs ? 0 : delayOffset;
  }

  get(id: string): Impression | undefined {
    const impression = this.#byId.get(id);
    return impression && this.#age(impression) <= this.#memory ? impression : undefined;
  }

  /** Impressions by status, over those still remembered. **Cost:** linear in them. */
  counts(): Record<ImpressionStatus, number> {
    const counts = { pending: 0, converted: 0, expired: 0, retracted: 0 };
    for (let i = this.#forgotten; i < this.#queue.length; i++) counts[this.status(this.#queue[i])]++;
    return counts;
  }

  status(impression: Impression): ImpressionStatus {
    if (rewardOf(impression.conversions) !== undefined) return "converted";
    if (impression.reward !== undefined) return "retracted";
    return this.#age(impression) > this.#span ? "expired" : "pending";
  }

  #time(moment: Moment): number {
    return this.#inMs ? (moment.now as number) : moment.round;
  }

  #age(impression: Impression, at = this.#inMs ? this.#now : this.#round): number {
    return at - this.#time(impression) + this.#delayOffset;
  }

  add(id: string, { features, slot, round, now }: AppendedImpression, conversions: Conversion[] = [], reward?: number): void {
    const impression =
      now === undefined ? { id, features, slot, round, conversions, reward } : { id, features, slot, round, now, conversions, reward };
    this.#byId.set(id, impression);
    this.#insert(impression);
  }

  #insert(impression: Impression): void {
    // Nearly always at the end; an impression registered afterwards finds its place in time.
    let place = this.#queue.length;
    while (place > this.#forgotten && this.#time(this.#queue[place - 1]) > this.#time(impression)) place--;
    if (place === this.#queue.length) this.#queue.push(impression);
    else this.#queue.splice(place, 0, impression);
    if (place < this.#closed) this.#closed++;
  }

  /** Moves the clock on, closes windows and forgets what is past memory. Returns how many windows it closed unconverted. */
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
   * Lets go of what is forgotten. A new map, not deletions: a map that is added to and deleted from replaces its table again and
   * again, each holds on to the next, and through them all impressions outlive many collections of garbage.
   */
  #compact(): void {
    this.#queue = this.#queue.slice(this.#forgotten);
    this.#byId = new Map();
    for (const impression of this.#queue) this.#byId.set(impression.id, impression);
    this.#closed -= this.#forgotten;
    this.#forgotten = 0;
  }

  /** Takes a conversion. Whatever the order in which the same conversions come, the rewards end up the same. */
  convert(id: string, conversion: Conversion): Registration {
    const impression = this.get(id);
    if (!impression) return { status: "unknown" };
    const previous = impression.reward;
    if (this.#age(impression, this.#inMs ? conversion.at : this.#round) > this.#span) return { status: "late", previous, reward: previous };
    let conflict = false;
    for (const { goal, eventId, at, reward } of impression.conversions) {
      if (goal !== conversion.goal || eventId !== conversion.eventId) continue;
      if (at === conversion.at && reward === conversion.reward) return { status: "duplicate", previous, reward: previous };
      conflict = true;
    }
    const before = this.#delay(impression);
    impression.conversions.push(conversion);
    if (impression.conversions.length > 1) impression.conversions.sort(compare);
    impression.reward = toldOf(impression.conversions);
    const result = { status: conflict ? "conflict" : "applied", previous, reward: impression.reward } as const;
    // In rounds it is not kept when a conversion came: it came now, if it is the first.
    return this.#inMs ? { ...result, delay: { before, after: this.#delay(impression) } } : result;
  }

  #delay({ now, conversions }: Impression): number | undefined {
    if (!this.#inMs) return undefined;
    const times = conversions.filter((_, i) => counts(conversions, i)).map(({ at }) => at);
    return times.length > 0 ? Math.max(Math.min(...times) - (now as number), 0) : undefined;
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
      for (const { goal, eventId, at, reward } of impression.conversions) {
        events.push(i, place(goal), place(eventId), at, reward ?? 0, Number(reward === null));
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
  }

  load(reader: SnapshotReader, dimension: number): void {
    const [round, now] = reader.numbers(2);
    const ids = reader.json() as string[];
    const shown = reader.numbers(3 * ids.length);
    const names = reader.json() as string[];
    const conversions = conversionsOf(reader.view(), names, ids.length);
    const features = reader.numbers(ids.length * dimension);
    ids.forEach((id, i) => {
      const [slot, shownRound, shownAt] = shown.subarray(3 * i, 3 * i + 3);
      if (this.#byId.has(id) || (this.#inMs && shownAt === NEVER)) throw malformed();
      const own = features.subarray(i * dimension, (i + 1) * dimension);
      const reward = toldOf(conversions[i].sort(compare));
      this.add(id, { features: own, slot, round: shownRound, now: shownAt === NEVER ? undefined : shownAt }, conversions[i], reward);
    });
    this.advance({ round, now });
  }
}

/** The conversions of each of `count` impressions, from rows of impression, goal, event, time, reward, and whether it is none. */
function conversionsOf(events: Float64Array, names: readonly string[], count: number): Conversion[][] {
  const conversions = Array.from({ length: count }, (): Conversion[] => []);
  for (let row = 0; row < events.length; row += 6) {
    const [goal, eventId] = [names[events[row + 1]], names[events[row + 2]]];
    if (goal === undefined || eventId === undefined) throw malformed();
    conversions[events[row]].push({ goal, eventId, at: events[row + 3], reward: events[row + 5] ? null : events[row + 4] });
  }
  return conversions;
}

/** Whether an event is the last of its goal, and no retraction. */
function counts(conversions: readonly Conversion[], i: number): boolean {
  return conversions[i].reward !== null && conversions[i + 1]?.goal !== conversions[i].goal;
}

/** Sum over goals of the rewards of the events that count, each the last of its goal; undefined if there is none. */
function rewardOf(conversions: readonly Conversion[]): number | undefined {
  if (conversions.length === 1) return conversions[0].reward ?? undefined;
  const rewards: number[] = [];
  conversions.forEach(({ reward }, i) => {
    if (counts(conversions, i)) rewards.push(reward as number);
  });
  return rewards.length === 0 ? undefined : rewards.sort((a, b) => a - b).reduce((sum, reward) => sum + reward, 0);
}

/**
 * What the policy is told of them: 0 when all are retracted. A retraction that comes first waits for what it retracts; that is
 * then told as worth 0, as in the other order.
 */
function toldOf(conversions: readonly Conversion[]): number | undefined {
  return rewardOf(conversions) ?? (conversions.some(({ reward }) => reward !== null) ? 0 : undefined);
}

/** By goal, time, event id and reward, no reward being the least: an order that does not depend on that of arrival. */
function compare(a: Conversion, b: Conversion): number {
  if (a.goal !== b.goal) return a.goal < b.goal ? -1 : 1;
  if (a.at !== b.at) return a.at - b.at;
  if (a.eventId !== b.eventId) return a.eventId < b.eventId ? -1 : 1;
  return (a.reward ?? Number.NEGATIVE_INFINITY) - (b.reward ?? Number.NEGATIVE_INFINITY);
}
