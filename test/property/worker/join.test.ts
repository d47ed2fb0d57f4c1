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
// and with the named action. Otherwise it waits. A repeated event joins the same impression as before. An event that names no action joins
// no list of several: it is refused or, if it came before the list, waits until it comes again with its action.

const START = 1_795_262_400_000;
const WINDOW_MS = 480_000;
const SHOWN = [0, 1000, 200_000, 481_000].map((ms) => START + ms);
const ACTIONS = ["mug", "tent", "lamp"];
/** Ids of the impressions of each list. */
const IDS = SHOWN.map((at, list) => ACTIONS.map((_, place) => uuidAt(at, new Uint8Array(10).fill(10 * list + place))));
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
  /** Of each impression of the list. */
  readonly actions: readonly string[];
}

const NOTHING: Shown = { keys: [], actions: [] };
const isVersion = (a: Keyed, b: Keyed) => a.key === b.key && a.goal === b.goal && a.event === b.event;
const isSame = (a: Keyed, b: Keyed) => a.at === b.at && a.reward === b.reward;

class Model {
  readonly shown = new Map<number, Shown>();
  /** Events in order of arrival. Without an impression an event waits. */
  rows: { readonly sent: Keyed; impression?: string; status: string }[] = [];

  /** The impression that an event joins. Undefined: none yet. Null: a list of several, and the event does not say which. */
  #joined({ key, action, at }: Keyed): string | undefined | null {
    const suiting = SHOWN.findLastIndex((shownAt, list) => {
      const { keys, actions } = this.shown.get(list) ?? NOTHING;
      return shownAt <= at && at <= shownAt + WINDOW_MS && keys.includes(key) && (action === null || actions.includes(action));
    });
    const { actions } = this.shown.get(suiting) ?? NOTHING;
    if (action === null && actions.length > 1) return null;
    return IDS[suiting]?.[action === null ? 0 : actions.indexOf(action)];
  }

  enter(sent: Keyed): string {
    const found = this.#find(sent);
    if (found === null) return "refused";
    const lacking = this.rows.filter((row) => sent.action !== null && row.impression === undefined && row.sent.action === null);
    const waited = lacking.filter((row) => isVersion(row.sent, sent));
    this.rows = this.rows.filter((row) => !waited.includes(row));
    for (const row of waited) if (!isSame(row.sent, sent)) this.enter({ ...row.sent, action: sent.action });
    return this.#add(sent, found);
  }

  #add(sent: Keyed, found: string | undefined): string {
    const same = this.rows.filter(({ sent: other, impression }) => {
      return impression === found && other.goal === sent.goal && other.event === sent.event;
    });
    // The key names a waiting event; the impression names a joined one.
    const known = found === undefined ? same.filter(({ sent: other }) => other.key === sent.key) : same;
    if (known.some(({ sent: other }) => isSame(other, sent))) return "duplicate";
    const late = found !== undefined && sent.at > SHOWN[IDS.findIndex((list) => list.includes(found))] + WINDOW_MS;
    const counted = same.some(({ status }) => status === "applied" || status === "conflict");
    const status = found === undefined ? "orphan" : late ? "late" : counted ? "conflict" : "applied";
    this.rows.push({ sent, impression: found, status });
    return status;
  }

  #find(sent: Keyed): string | undefined | null {
    const same = this.rows.filter((row) => isVersion(row.sent, sent));
    const joined = same.find(({ impression }) => impression !== undefined);
    if (joined) return joined.impression;
    // The very same event waits already.
    if (same.some((row) => isSame(row.sent, sent) && (sent.action === null || row.sent.action !== null))) return undefined;
    return this.#joined(sent);
  }

  show(list: number, shown: Shown): void {
    if (this.shown.has(list)) return;
    this.shown.set(list, shown);
    for (const id of IDS[list]) {
      const joining = this.rows.filter((row) => row.impression === undefined && this.#joined(row.sent) === id);
      this.rows = this.rows.filter((row) => !joining.includes(row));
      for (const { sent } of joining) this.#add(sent, id);
    }
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
    return { ...rest, event: `${rest.key}${version ? "" : ` ${rest.action} ${place}`}`, at: TIMES[place] };
  });
const shown = fc.record({
  place: fc.nat({ max: SHOWN.length - 1 }),
  keys: fc.uniqueArray(key, { maxLength: 2 }),
  actions: fc.uniqueArray(fc.constantFrom(...ACTIONS), { minLength: 1, maxLength: 3 }),
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
          const common = { name: null, features: Float64Array.of(1), context: null, arm: "policy" as const, version: 0, byPage: false };
          const ids = IDS[step.place];
          // A list that is known is registered again.
          const list = model.shown.get(step.place) ?? step;
          const rows = list.actions.map((action, place) => {
            const decision = { score: 0, mean: 0, width: 0, place, candidates: 3, ...(place > 0 && { first: ids[0] }) };
            return { ...common, id: ids[place], action, decision, keys: list.keys.map((key) => [key]) };
          });
          replica.register(policies, rows);
          model.show(step.place, step);
        } else {
          expect(
            ingestion
              .enter([{ ...step, key: { backend: [step.key], page: [`page ${step.key}`] }, byPage: false }])
              .map(({ status }) => status),
          ).toEqual([model.enter(step)]);
        }
      }
      for (const id of IDS.flat()) {
        const rows = store.conversions.of(id).map(({ event, goal, reward, status }) => ({ event, goal, reward, status }));
        const expected = model.rows.filter((row) => row.impression === id);
        expect(rows).toEqual(expected.map(({ sent: { event, goal, reward }, status }) => ({ event, goal, reward, status })));
      }
      expect(store.counters.all().orphan).toBe(model.rows.filter((row) => row.impression === undefined).length);
      disk.close();
    }),
    { numRuns: 100 },
  );
});
