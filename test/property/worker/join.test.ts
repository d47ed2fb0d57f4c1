import fc from "fast-check";
import { expect, it } from "vitest";
import { Disk, durableStorage } from "../../../trials/simulation/workerd/durable-storage.ts";
import { type Faults, Isolate } from "../../../trials/simulation/workerd/isolate.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";
import type { Environment } from "../../../worker/environment.ts";
import { Ingestion } from "../../../worker/learner/model/ingestion.ts";
import { ModelHolder } from "../../../worker/learner/model/model-holder.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";

// Conversions with a join key. Each joins the newest impression of its key that was shown before it, within the window,
// and with the named action. Otherwise it waits. A repeated event joins the same impression as before.

const START = 1_795_262_400_000;
const WINDOW_MS = 480_000;
const SHOWN = [0, 1000, 200_000, 481_000].map((ms) => START + ms);
const IDS = SHOWN.map((at, place) => uuidAt(at, new Uint8Array(10).fill(place)));
/** Time of each event: at the end of a window, or just after it. */
const TIMES = [-1, 0, 999, 1000, 480_000, 480_001, 481_000, 680_001, 961_000, 961_001].map((ms) => START + ms);

const faultless: Faults = { strikes: () => undefined, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };

interface Keyed {
  readonly key: string;
  readonly action: string | null;
  readonly goal: string;
  readonly event: string;
  readonly at: number;
  readonly reward: number | null;
}

interface Shown {
  readonly keys: readonly string[];
  readonly action: string;
}

class Model {
  readonly shown = new Map<number, Shown>();
  /** Events in order of arrival. Without a place an event waits. */
  rows: { readonly sent: Keyed; place?: number; status: string }[] = [];

  #suits(place: number, { key, action, at }: Keyed): boolean {
    const impression = this.shown.get(place);
    const inTime = SHOWN[place] <= at && at <= SHOWN[place] + WINDOW_MS;
    return inTime && impression?.keys.includes(key) === true && (action === null || action === impression.action);
  }

  enter(sent: Keyed, found = this.#find(sent)): string {
    const same = this.rows.filter(({ sent: other, place }) => place === found && other.goal === sent.goal && other.event === sent.event);
    // The key names a waiting event; the impression names a joined one.
    const known = found === undefined ? same.filter(({ sent: other }) => other.key === sent.key) : same;
    if (known.some(({ sent: other }) => other.at === sent.at && other.reward === sent.reward)) return "duplicate";
    const late = found !== undefined && sent.at > SHOWN[found] + WINDOW_MS;
    const counted = same.some(({ status }) => status === "applied" || status === "conflict");
    const status = found === undefined ? "orphan" : late ? "late" : counted ? "conflict" : "applied";
    this.rows.push({ sent, place: found, status });
    return status;
  }

  #find(sent: Keyed): number | undefined {
    const same = this.rows.filter(({ sent: other }) => other.key === sent.key && other.goal === sent.goal && other.event === sent.event);
    const joined = same.find(({ place }) => place !== undefined);
    if (joined) return joined.place;
    const suiting = [...this.shown.keys()].filter((place) => this.#suits(place, sent));
    return suiting.length > 0 ? Math.max(...suiting) : undefined;
  }

  show(place: number, shown: Shown): void {
    if (this.shown.has(place)) return;
    this.shown.set(place, shown);
    const joining = this.rows.filter((row) => row.place === undefined && this.#suits(place, row.sent));
    this.rows = this.rows.filter((row) => !joining.includes(row));
    for (const { sent } of joining) this.enter(sent, place);
  }
}

const key = fc.constantFrom("visitor", "order");
const sent = fc
  .record({
    key,
    action: fc.constantFrom(null, null, "mug", "tent"),
    goal: fc.constantFrom("buy", "buy", "rate"),
    place: fc.nat({ max: TIMES.length - 1 }),
    reward: fc.constantFrom(0.5, 1, null),
    // Versions of one event have one name.
    version: fc.boolean(),
  })
  .map(({ place, version, ...rest }): Keyed => {
    return { ...rest, event: `${rest.key} ${rest.action}${version ? "" : ` ${place}`}`, at: TIMES[place] };
  });
const shown = fc.record({
  place: fc.nat({ max: SHOWN.length - 1 }),
  keys: fc.uniqueArray(key, { maxLength: 2 }),
  action: fc.constantFrom("mug", "tent"),
});

it("conversions with keys end up where their key leads, in whatever order they and their impressions come", async () => {
  const config = await configureModel({ policy: "otf-lin-ts", options: { dimension: 1 }, window: { ms: WINDOW_MS } });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(sent, sent, shown), { minLength: 5, maxLength: 30 }), async (steps) => {
      const disk = new Disk();
      const store = new LearnerStore(durableStorage(disk, new Isolate("learner", faultless)));
      store.create({ name: "shop", config, generation: START, watermark: 0, homes: 1 });
      const current = new ModelHolder({} as Environment, store);
      const ingestion = new Ingestion(store, current, { forward: async (events, enter) => [...enter(events)] });
      const replica = current.get().live;
      const model = new Model();
      const policies = await replica.start();
      for (const step of steps) {
        if ("keys" in step) {
          const row = { id: IDS[step.place], name: null, features: Float64Array.of(1), context: null, arm: "policy" as const };
          replica.register(policies, [
            { ...row, action: step.action, version: 0, decision: null, byPage: false, keys: step.keys.map((key) => [key]) },
          ]);
          model.show(step.place, step);
        } else {
          expect(
            ingestion
              .enter([{ ...step, key: { backend: [step.key], page: [`page ${step.key}`] }, byPage: false }])
              .map(({ status }) => status),
          ).toEqual([model.enter(step)]);
        }
      }
      IDS.forEach((id, place) => {
        const rows = store.conversions.of(id).map(({ event, goal, reward, status }) => ({ event, goal, reward, status }));
        const expected = model.rows.filter((row) => row.place === place);
        expect(rows).toEqual(expected.map(({ sent: { event, goal, reward }, status }) => ({ event, goal, reward, status })));
      });
      expect(store.counters.all().orphan).toBe(model.rows.filter((row) => row.place === undefined).length);
      disk.close();
    }),
    { numRuns: 120 },
  );
});
