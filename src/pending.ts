import type { AppendedImpression, ReportedDelay } from "./model/posterior.ts";
import type { Moment, Window } from "./model/window.ts";
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

/**
 * The impressions whose conversions may still come, by id. It alone decides what is late, twice or unknown.
 *
 * An impression stays for its window and the grace after it: a conversion that happened in time but was delivered
 * slowly still counts, one that happened too late is called late. After that it is forgotten, and its id unknown.
 */
export class Pending {
  readonly #window: Window;
  readonly #delayOffset: 0 | 1;
  readonly #byId = new Map<string, Impression>();
  // In order of time, so that windows close from the front: [0, closed) are expired or settled, the rest open.
  #queue: Impression[] = [];
  #closed = 0;
  #forgotten = 0;
  #now: Moment = { round: 0, now: Number.MIN_SAFE_INTEGER };

  constructor(window: Window, delayOffset: 0 | 1) {
    this.#window = window;
    this.#delayOffset = delayOffset;
  }

  /** The latest moment seen; it never goes back. */
  get now(): Moment {
    return this.#now;
  }

  get(id: string): Impression | undefined {
    return this.#byId.get(id);
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
    return this.#age(impression, this.#now) > this.#span() ? "expired" : "pending";
  }

  #span(): number {
    if (this.#window === "none") return Number.MAX_VALUE;
    return "ms" in this.#window ? this.#window.ms : this.#window.rounds;
  }

  #grace(): number {
    return this.#window === "none" ? 0 : (this.#window.grace ?? this.#span());
  }

  get #inMs(): boolean {
    return typeof this.#window === "object" && "ms" in this.#window;
  }

  #time(moment: Moment): number {
    return this.#inMs ? (moment.now as number) : moment.round;
  }

  #age(impression: Impression, at: Moment): number {
    return this.#time(at) - this.#time(impression) + (this.#inMs ? 0 : this.#delayOffset);
  }

  add(impression: Impression): void {
    this.#byId.set(impression.id, impression);
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
    this.#now = {
      round: Math.max(moment.round, this.#now.round),
      now: Math.max(moment.now ?? Number.MIN_SAFE_INTEGER, this.#now.now as number),
    };
    const span = this.#span();
    const memory = span + this.#grace();
    let expired = 0;
    for (; this.#closed < this.#queue.length && this.#age(this.#queue[this.#closed], this.#now) > span; this.#closed++) {
      if (this.#queue[this.#closed].reward === undefined) expired++;
    }
    for (; this.#forgotten < this.#closed && this.#age(this.#queue[this.#forgotten], this.#now) > memory; this.#forgotten++) {
      this.#byId.delete(this.#queue[this.#forgotten].id);
    }
    if (this.#forgotten > 1024 && 2 * this.#forgotten > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#forgotten);
      this.#closed -= this.#forgotten;
      this.#forgotten = 0;
    }
    return expired;
  }

  /** Takes a conversion. Whatever the order in which the same conversions come, the rewards end up the same. */
  convert(id: string, conversion: Conversion): Registration {
    const impression = this.#byId.get(id);
    if (!impression) return { status: "unknown" };
    const previous = impression.reward;
    const when = this.#inMs ? { round: 0, now: conversion.at } : this.#now;
    if (this.#age(impression, when) > this.#span()) return { status: "late", previous, reward: previous };
    const same = impression.conversions.filter(({ goal, eventId }) => goal === conversion.goal && eventId === conversion.eventId);
    if (same.some(({ at, reward }) => at === conversion.at && reward === conversion.reward)) {
      return { status: "duplicate", previous, reward: previous };
    }
    const before = this.#delay(impression);
    impression.conversions.push(conversion);
    impression.conversions.sort(compare);
    // A retraction that comes before what it retracts leaves the impression as it was.
    impression.reward = rewardOf(impression.conversions) ?? (previous === undefined ? undefined : 0);
    const status = same.length > 0 ? "conflict" : "applied";
    // In rounds it is not kept when a conversion came: it came now, if it is the first.
    const delay = this.#inMs ? { delay: { before, after: this.#delay(impression) } } : {};
    return { status, previous, reward: impression.reward, ...delay };
  }

  #delay({ now, conversions }: Impression): number | undefined {
    const times = conversions.filter((_, i) => counts(conversions, i)).map(({ at }) => at);
    return this.#inMs && times.length > 0 ? Math.max(Math.min(...times) - (now as number), 0) : undefined;
  }

  save(writer: SnapshotWriter): void {
    const kept = this.#queue.slice(this.#forgotten);
    writer.numbers([this.#now.round, this.#now.now as number]);
    writer.json(
      kept.map((impression) => {
        const { id, slot, round, now, conversions } = impression;
        // Only of a retracted one it does not follow from the conversions that the policy was told of it.
        return [id, slot, round, now ?? null, conversions, ...(this.status(impression) === "retracted" ? [0] : [])];
      }),
    );
    const dimension = kept[0]?.features.length ?? 0;
    const features = new Float64Array(kept.length * dimension);
    kept.forEach((impression, i) => {
      features.set(impression.features, i * dimension);
    });
    writer.numbers(features);
  }

  load(reader: SnapshotReader, dimension: number): void {
    const [round, now] = reader.numbers(2);
    const kept = reader.json() as [string, number, number, number | null, Conversion[], 0?][];
    const features = reader.numbers(kept.length * dimension);
    this.#now = { round, now };
    kept.forEach(([id, slot, shownRound, shownAt, conversions, retracted], i) => {
      if (this.#byId.has(id) || (this.#inMs && shownAt === null)) throw malformed();
      const own = features.slice(i * dimension, (i + 1) * dimension);
      const reward = rewardOf(conversions.sort(compare)) ?? retracted;
      this.add({ id, slot, round: shownRound, ...(shownAt !== null && { now: shownAt }), features: own, conversions, reward });
    });
    this.advance(this.#now);
  }
}

/** Whether an event is the last of its goal, and no retraction. */
function counts(conversions: readonly Conversion[], i: number): boolean {
  return conversions[i].reward !== null && conversions[i + 1]?.goal !== conversions[i].goal;
}

/** Sum over goals of the rewards of the events that count, each the last of its goal; undefined if there is none. */
function rewardOf(conversions: readonly Conversion[]): number | undefined {
  const rewards: number[] = [];
  conversions.forEach(({ reward }, i) => {
    if (counts(conversions, i)) rewards.push(reward as number);
  });
  return rewards.length === 0 ? undefined : rewards.sort((a, b) => a - b).reduce((sum, reward) => sum + reward, 0);
}

/** By goal, time, event id and reward, no reward being the least: an order that does not depend on that of arrival. */
function compare(a: Conversion, b: Conversion): number {
  if (a.goal !== b.goal) return a.goal < b.goal ? -1 : 1;
  if (a.at !== b.at) return a.at - b.at;
  if (a.eventId !== b.eventId) return a.eventId < b.eventId ? -1 : 1;
  return (a.reward ?? Number.NEGATIVE_INFINITY) - (b.reward ?? Number.NEGATIVE_INFINITY);
}
