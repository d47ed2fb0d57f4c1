// A model of the worker's ledger, by the rules in the README and the API, over plain values. It keeps every event and
// recomputes everything that follows from events.

export interface Event {
  readonly impression: string;
  readonly goal: string;
  readonly event: string;
  readonly at: number;
  readonly reward: number | null;
}

export type Status = "applied" | "conflict" | "late" | "orphan" | "void";

interface Shown {
  state: "live" | "deferred" | "void";
  erased?: boolean;
}

/** An impression as the policy learnt it. */
interface Learnt {
  readonly feature: number;
  readonly reward: number;
  /** Raw reward of each goal that counts, and the time to its first conversion. */
  readonly goals: Readonly<Record<string, { readonly reward: number; readonly delay: number }>>;
}

interface State {
  readonly events: { readonly event: Event; status: Status }[];
  readonly shown: Map<string, Shown>;
  readonly learnt: Map<string, Learnt>;
  readonly counts: Record<string, number>;
}

export interface Rules {
  readonly windowMs: number;
  readonly bucketMs: number;
  readonly weights: Readonly<Record<string, number>>;
  shownAt(impression: string): number;
  feature(impression: string): number;
}

/** Truncates towards zero to a multiple of 2^-12. */
const dyadic = (value: number): number => (Math.sign(value) * Math.floor(Math.abs(value) * 4096)) / 4096;

const isSame = (a: Event, b: Event): boolean => JSON.stringify(a) === JSON.stringify(b);

export class LedgerModel {
  readonly #rules: Rules;
  #state: State = { events: [], shown: new Map(), learnt: new Map(), counts: {} };
  #kept?: State;
  watermark = 0;
  horizon = 0;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  get learnt(): ReadonlyMap<string, Learnt> {
    return this.#state.learnt;
  }

  state(impression: string): string | undefined {
    return this.#state.shown.get(impression)?.state;
  }

  #count(name: string, by = 1): void {
    this.#state.counts[name] = (this.#state.counts[name] ?? 0) + by;
  }

  #of(impression: string) {
    return this.#state.events.filter(({ event }) => event.impression === impression);
  }

  /** Rewards of the goals that count, what each has brought, and whether the impression ever had a reward. */
  #rewards(impression: string): { readonly rewards: number[]; readonly goals: Learnt["goals"]; readonly rewarded: boolean } {
    const counting = this.#of(impression).filter(({ status }) => status === "applied" || status === "conflict");
    const events = counting.map(({ event }) => event);
    const key = ({ at, event, reward }: Event) => [at, event, reward ?? Number.NEGATIVE_INFINITY] as const;
    const outranks = (a: Event, b: Event) => {
      const place = [0, 1, 2].find((i) => key(a)[i] !== key(b)[i]);
      return place !== undefined && key(a)[place] > key(b)[place];
    };
    // A 0 takes back the earlier rewards of its own name, and says nothing else.
    const isTakenBack = (event: Event) =>
      event.reward === 0 ||
      events.some((zero) => zero.reward === 0 && zero.goal === event.goal && zero.event === event.event && outranks(zero, event));
    const standing = events.filter((event) => event.reward === null || !isTakenBack(event));
    const winners = standing.filter((event) => !standing.some((other) => other.goal === event.goal && outranks(other, event)));
    const rewards = winners.flatMap(({ goal, reward }) => (reward === null ? [] : dyadic(this.#rules.weights[goal] * reward)));
    const goals = winners.flatMap(({ goal, reward }) => {
      if (reward === null) return [];
      const times = events.flatMap((event) => (event.goal === goal && event.reward ? event.at : []));
      return [[goal, { reward, delay: Math.max(Math.min(...times) - this.#rules.shownAt(impression), 0) }] as const];
    });
    return { rewards, goals: Object.fromEntries(goals), rewarded: events.some(({ reward }) => reward) };
  }

  /** Events of an impression with their statuses, in order of arrival. */
  rows(impression: string): (Event & { readonly status: Status })[] {
    return this.#of(impression).map(({ event, status }) => ({ ...event, status }));
  }

  #standing(impression: string): "converted" | "retracted" | undefined {
    const { rewards, rewarded } = this.#rewards(impression);
    if (rewards.length > 0) return "converted";
    return rewarded ? "retracted" : undefined;
  }

  /** Reward as the API shows it: null before the first conversion and after an erasure. */
  reward(impression: string): number | null {
    const { rewards, rewarded } = this.#rewards(impression);
    const gone = this.#state.shown.get(impression)?.erased || !this.#state.shown.has(impression);
    return rewarded && !gone ? rewards.reduce((sum, reward) => sum + reward, 0) : null;
  }

  counts(): Record<string, number> {
    return { applied: 0, conflict: 0, late: 0, orphan: 0, duplicate: 0, impressions: 0, converted: 0, retracted: 0, ...this.#state.counts };
  }

  /** Whether the ledger has the event, whatever its status. */
  knows(given: Event): boolean {
    const event = { ...given, reward: given.reward === null ? null : dyadic(given.reward) };
    return this.#of(event.impression).some(({ event: other }) => JSON.stringify(other) === JSON.stringify(event));
  }

  enter(given: Event): Status | "duplicate" | "refused" {
    const { impression, goal, event: name, at } = given;
    if (!Object.hasOwn(this.#rules.weights, goal) || (given.reward !== null && Math.abs(given.reward) > 1)) return "refused";
    const event = { ...given, reward: given.reward === null ? null : dyadic(given.reward) };
    const shownAt = this.#rules.shownAt(impression);
    const { bucketMs, windowMs } = this.#rules;
    const closed = (Math.floor(shownAt / bucketMs) + 1) * bucketMs <= this.watermark;
    const state = this.state(impression);
    const late = closed || state === "void" || (state === "live" && at - shownAt > windowMs);
    const standing = this.#of(impression).filter((other) => other.status !== "void" && (late || other.status !== "late"));
    // No figure has a silent event.
    const count = (status: string) => this.#count(status, Number(event.reward !== 0));
    if (standing.some((other) => isSame(other.event, event))) {
      count("duplicate");
      return "duplicate";
    }
    if (shownAt < this.horizon || this.#state.shown.get(impression)?.erased) {
      count("late");
      return "late";
    }
    const same = this.#of(impression).filter(
      (other) => other.event.goal === goal && other.event.event === name && other.event.reward !== 0,
    );
    const status = ((): Status => {
      if (late) return "late";
      if (state !== "live") return "orphan";
      return event.reward !== 0 && same.some((other) => other.status === "applied" || other.status === "conflict") ? "conflict" : "applied";
    })();
    const before = this.#standing(impression);
    const again = this.#of(impression).filter((other) => ["void", "late"].includes(other.status) && isSame(other.event, event));
    this.#state.events.splice(0, Number.POSITIVE_INFINITY, ...this.#state.events.filter((each) => !again.includes(each)));
    this.#state.events.push({ event, status });
    count(status);
    if (before) this.#count(before, -1);
    const after = this.#standing(impression);
    if (after) this.#count(after);
    const total = this.reward(impression);
    if (state === "live" && status !== "late" && total !== null) this.#learn(impression, total);
    return status;
  }

  #learn(impression: string, reward: number): void {
    const { goals } = this.#rewards(impression);
    this.#state.learnt.set(impression, { feature: this.#rules.feature(impression), reward, goals });
  }

  show(impression: string, state: "live" | "deferred"): "registered" | "duplicate" {
    const known = this.#state.shown.get(impression);
    if (known && (known.state !== "void" || known.erased)) return "duplicate";
    this.#state.shown.set(impression, { state });
    if (state === "live") this.#goLive(impression);
    return "registered";
  }

  activate(impression: string): void {
    const shown = this.#state.shown.get(impression);
    if (shown?.state !== "deferred") return;
    shown.state = "live";
    this.#goLive(impression);
  }

  #goLive(impression: string): void {
    this.#count("impressions");
    this.#learn(impression, 0);
    const waiting = this.#of(impression).filter(({ status }) => status === "orphan");
    this.#state.events.splice(0, Number.POSITIVE_INFINITY, ...this.#state.events.filter((each) => !waiting.includes(each)));
    this.#count("orphan", -waiting.filter(({ event }) => event.reward !== 0).length);
    for (const { event } of waiting) this.enter(event);
  }

  close(before: number): void {
    for (const [impression, { state }] of this.#state.shown) {
      const shownAt = this.#rules.shownAt(impression);
      if (state === "deferred" && shownAt < before) this.#state.shown.delete(impression);
    }
    this.watermark = Math.max(this.watermark, before);
  }

  /** Deletes impressions shown before a time. The policy keeps what it has learnt. */
  prune(before: number): void {
    const { events, shown } = this.#state;
    events.splice(0, Number.POSITIVE_INFINITY, ...events.filter(({ event }) => this.#rules.shownAt(event.impression) >= before));
    for (const impression of shown.keys()) if (this.#rules.shownAt(impression) < before) shown.delete(impression);
    this.horizon = Math.max(this.horizon, before);
  }

  erase(impression: string): void {
    this.#state.shown.set(impression, { ...this.#state.shown.get(impression), state: "void", erased: true });
    const { events } = this.#state;
    this.#count("orphan", -this.#of(impression).filter(({ event, status }) => status === "orphan" && event.reward !== 0).length);
    events.splice(0, Number.POSITIVE_INFINITY, ...events.filter(({ event }) => event.impression !== impression));
  }

  keep(): void {
    this.#kept = structuredClone(this.#state);
  }

  /** Events after the kept state count for nothing, and impressions are void. Both may come again. */
  rollBack(): boolean {
    const kept = this.#kept;
    if (!kept) return false;
    const counted = ({ status }: { readonly status: Status }) => status === "applied" || status === "conflict";
    const before = new Set(kept.events.filter(counted).map(({ event }) => JSON.stringify(event)));
    for (const each of this.#state.events) {
      if (counted(each) && !before.has(JSON.stringify(each.event))) each.status = "void";
    }
    for (const [impression, shown] of this.#state.shown) {
      if (shown.state === "live" && kept.shown.get(impression)?.state !== "live") shown.state = "void";
    }
    this.#state.learnt.clear();
    for (const [impression, learnt] of kept.learnt) this.#state.learnt.set(impression, learnt);
    for (const name of ["impressions", "applied", "conflict", "converted", "retracted"]) this.#state.counts[name] = kept.counts[name] ?? 0;
    return true;
  }
}
