import { type ConversionEvent, type PolicyDescriptor, type PolicyFactory, Recommender, type Window } from "afterclick";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

// Compares the SDK's ledger with a model of its rules that keeps everything and recomputes everything.

interface Observation {
  readonly round: number;
  readonly feature: number;
  readonly reward: number;
  readonly previous?: number;
  readonly before?: number;
  readonly after?: number;
}

/** A policy that learns nothing and records its calls. */
function listener(delayOffset: 0 | 1, observed: Observation[]): PolicyFactory {
  const descriptor: PolicyDescriptor = {
    id: "listener",
    stateVersion: 1,
    options: {},
    start: () => ({
      dimension: 1,
      orderInvariant: true,
      deterministic: true,
      delayOffset,
      state: {
        append: (_, { round }) => round,
        observe({ features: [feature], slot }, reward, previous, delay) {
          observed.push({ round: slot, feature, reward, previous, before: delay?.before, after: delay?.after });
        },
        statistics: () => new Float64Array(0),
        save() {},
        load() {},
      },
    }),
  };
  return Object.assign(() => descriptor, { id: "listener" }) as unknown as PolicyFactory;
}

type Event = Required<Omit<ConversionEvent, "currency" | "restates">>;

interface Shown {
  readonly round: number;
  readonly time: number;
  readonly feature: number;
  events: Event[];
  /** Whether the window has been closed. */
  closed: boolean;
}

class Model {
  readonly #inMs: boolean;
  readonly #span: number;
  readonly #memory: number;
  readonly #offset: number;
  readonly shown = new Map<string, Shown>();
  round = 0;
  now = Number.NEGATIVE_INFINITY;

  constructor(window: Window, offset: number) {
    const { rounds, ms, grace } = (window === "none" ? {} : window) as { rounds?: number; ms?: number; grace?: number };
    this.#inMs = ms !== undefined;
    this.#span = ms ?? rounds ?? Number.POSITIVE_INFINITY;
    this.#memory = this.#span + (grace ?? this.#span);
    this.#offset = this.#inMs ? 0 : offset;
  }

  #age({ time }: Shown, at = this.#inMs ? this.now : this.round): number {
    return at - time + this.#offset;
  }

  #remembered(): Shown[] {
    return [...this.shown.values()].filter((each) => this.#age(each) <= this.#memory);
  }

  find(id: string): Shown | undefined {
    const found = this.shown.get(id);
    return found && this.#age(found) <= this.#memory ? found : undefined;
  }

  /** Registers an impression. Returns whether the id was accepted. */
  register(id: string, feature: number, now: number): boolean {
    if (this.find(id)) return false;
    this.round++;
    this.shown.set(id, { round: this.round, time: this.#inMs ? now : this.round, feature, events: [], closed: false });
    this.expire(now);
    return true;
  }

  expire(now: number): number {
    if (this.#inMs) this.now = Math.max(this.now, now);
    const closing = [...this.shown.values()].filter((each) => !each.closed && this.#age(each) > this.#span);
    for (const each of closing) each.closed = true;
    return closing.filter((each) => this.observed(each) === undefined).length;
  }

  #winners({ events }: Shown): Event[] {
    const outranks = (a: Event, b: Event): boolean => {
      if (a.at !== b.at) return a.at > b.at;
      if (a.eventId !== b.eventId) return a.eventId > b.eventId;
      return (a.reward ?? -9) > (b.reward ?? -9);
    };
    const ofGoal = (event: Event) => events.filter(({ goal }) => goal === event.goal);
    // A 0 takes back the earlier rewards of its own id, and says nothing else.
    const standing = events.filter((event) => {
      const zeros = ofGoal(event).filter(({ eventId, reward }) => eventId === event.eventId && reward === 0);
      return event.reward === null || (event.reward !== 0 && !zeros.some((zero) => outranks(zero, event)));
    });
    return standing.filter(
      (event) => event.reward !== null && !ofGoal(event).some((other) => standing.includes(other) && outranks(other, event)),
    );
  }

  observed(shown: Shown): number | undefined {
    if (!shown.events.some(({ reward }) => reward)) return undefined;
    return this.#winners(shown).reduce((sum, { reward }) => sum + (reward as number), 0);
  }

  #delay(shown: Shown): number | undefined {
    const goals = this.#winners(shown).map(({ goal }) => goal);
    const counting = shown.events.filter(({ goal, reward }) => reward && goals.includes(goal));
    const times = counting.map(({ at }) => Math.max(0, at - shown.time));
    return this.#inMs && times.length > 0 ? Math.min(...times) : undefined;
  }

  status(shown: Shown): string {
    if (this.#winners(shown).length > 0) return "converted";
    if (this.observed(shown) !== undefined) return "retracted";
    return this.#age(shown) > this.#span ? "expired" : "pending";
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = { pending: 0, converted: 0, expired: 0, retracted: 0 };
    for (const each of this.#remembered()) counts[this.status(each)]++;
    return counts;
  }

  /** Converts. Returns the status and the expected call of the policy. */
  convert(event: Event): { readonly status: string; readonly observed?: Observation } {
    const shown = this.find(event.impressionId);
    if (!shown) return { status: "unknown" };
    if (this.#age(shown, this.#inMs ? event.at : this.round) > this.#span) return { status: "late" };
    const same = shown.events.filter(({ goal, eventId }) => goal === event.goal && eventId === event.eventId);
    if (same.some(({ at, reward }) => at === event.at && reward === event.reward)) return { status: "duplicate" };
    const [previous, before] = [this.observed(shown), this.#delay(shown)];
    shown.events = [...shown.events, event];
    const [reward, after] = [this.observed(shown), this.#delay(shown)];
    const status = event.reward !== 0 && same.some(({ reward }) => reward !== 0) ? "conflict" : "applied";
    if (reward === undefined || (reward === previous && before === after)) return { status };
    return { status, observed: { round: shown.round, feature: shown.feature, reward, previous, before, after } };
  }
}

const ids = ["a", "b", "c", "d", "e"];
const id = fc.constantFrom(...ids);
const reward = fc.constantFrom(0, 0.25, 0.5, 1, null);
const jump = fc.integer({ min: -2, max: 6 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant("register" as const), id, jump, feature: fc.integer({ min: 1, max: 9 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("convert" as const),
      id,
      reward,
      goal: fc.constantFrom("click", "order"),
      eventId: fc.constantFrom("x", "y", undefined),
      delay: fc.constantFrom(-1, 0, 1, 3, 4, 5, 6),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("expire" as const), jump }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("restore" as const) }) },
);

const windows: readonly Window[] = [
  { rounds: 1 },
  { rounds: 3 },
  { rounds: 3, grace: 0 },
  { rounds: 2, grace: 4 },
  { ms: 5 },
  { ms: 5, grace: 0 },
  { ms: 4, grace: 2 },
  "none",
];

describe.each(windows)("with the window %j", (window) => {
  const inMs = typeof window === "object" && "ms" in window;

  it.each([0, 1] as const)("and a delay offset of %d the ledger is its model under any sequence of calls", async (offset) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const observed: Observation[] = [];
        const policy = listener(offset, observed);
        let recommender = await Recommender.create({ policy: (policy as unknown as () => PolicyDescriptor)(), window });
        const model = new Model(window, offset);
        let clock = 100;
        for (const each of steps) {
          observed.length = 0;
          if (each.type === "register") {
            const at = clock + each.jump;
            const register = () => recommender.register({ impressionId: each.id, features: [each.feature], ...(inMs && { now: at }) });
            if (model.register(each.id, each.feature, at)) register();
            else expect(register).toThrow(/impressionId: expected an id that is not registered yet/);
            clock = Math.max(clock, at);
          } else if (each.type === "expire" && inMs) {
            clock += each.jump;
            expect(recommender.expire(clock)).toBe(model.expire(clock));
          } else if (each.type === "convert") {
            const { goal, reward } = each;
            const at = inMs ? (model.shown.get(each.id)?.time ?? clock) + each.delay : 0;
            const named = each.eventId !== undefined && { eventId: each.eventId };
            const { status } = recommender.convert({ impressionId: each.id, goal, reward, ...(inMs && { at }), ...named });
            const expected = model.convert({ impressionId: each.id, goal, reward, at, eventId: each.eventId ?? `at ${at}` });
            expect({ status, observed }).toEqual({ status: expected.status, observed: expected.observed ? [expected.observed] : [] });
          } else if (each.type === "restore") {
            recommender = await Recommender.restore(recommender.snapshot(), { policies: [policy] });
          }
          expect(recommender.counts()).toEqual(model.counts());
          for (const name of ids) {
            const [impression, shown] = [recommender.impression(name), model.find(name)];
            expect(impression && { status: impression.status, reward: impression.reward, events: impression.conversions.length }).toEqual(
              shown && { status: model.status(shown), reward: model.observed(shown), events: shown.events.length },
            );
          }
        }
      }),
      { numRuns: 40 },
    );
  });
});

it("forgets thousands of impressions one by one, and takes their ids again", async () => {
  const window = { rounds: 5, grace: 2 };
  const recommender = await Recommender.create({ policy: (listener(0, []) as unknown as () => PolicyDescriptor)(), window });
  const register = (n: number) => recommender.register({ impressionId: `impression ${n}`, features: [n] });
  for (let n = 1; n <= 5000; n++) {
    register(n);
    if (n < 20) continue;
    // Age 7 is the last one in memory, and 5 the last that counts.
    expect(recommender.impression(`impression ${n - 7}`)?.features).toEqual(Float64Array.of(n - 7));
    expect(recommender.impression(`impression ${n - 8}`)).toBeUndefined();
    if (n % 100 === 0) expect(recommender.counts()).toEqual({ pending: 6, converted: 0, expired: 2, retracted: 0 });
  }
  expect(() => register(4993)).toThrow(/not registered yet/);
  register(4992);
  expect(recommender.convert({ impressionId: "impression 4992", reward: 1 })).toEqual({ status: "applied" });
  expect(recommender.convert({ impressionId: "impression 4995", reward: 1 })).toEqual({ status: "late" });
  expect(recommender.convert({ impressionId: "impression 4996", reward: 1 })).toEqual({ status: "applied" });
  expect(recommender.convert({ impressionId: "impression 4993", reward: 1 })).toEqual({ status: "unknown" });
});

it("closes each of thousands of windows once, also after what is past was let go of", async () => {
  const recommender = await Recommender.create({
    policy: (listener(0, []) as unknown as () => PolicyDescriptor)(),
    window: { ms: 5, grace: 2 },
  });
  let now = 0;
  for (let batch = 0; batch < 300; batch++) {
    for (let n = 0; n < 10; n++) recommender.register({ impressionId: `impression ${batch} ${n}`, features: [1], now: ++now });
    // Six impressions are open: the newest, and those 1 to 5 ms older. One of them has converted.
    expect(recommender.convert({ impressionId: `impression ${batch} 7`, reward: 1, at: now }).status).toBe("applied");
    expect(recommender.counts()).toEqual({ pending: 5, converted: 1, expired: 2, retracted: 0 });
    now += 6;
    expect(recommender.expire(now)).toBe(5);
    expect(recommender.expire(now)).toBe(0);
    now += 20;
    expect(recommender.expire(now)).toBe(0);
    expect(recommender.counts()).toEqual({ pending: 0, converted: 0, expired: 0, retracted: 0 });
  }
});
