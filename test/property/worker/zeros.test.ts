import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { lineSource } from "../../../cli/evaluate/event-source.ts";
import { linesOf } from "../../../cli/log/event-log.ts";
import { verify } from "../../../cli/verify/verification.ts";
import { Disk, durableStorage } from "../../../trials/simulation/workerd/durable-storage.ts";
import { type Faults, Isolate } from "../../../trials/simulation/workerd/isolate.ts";
import { Kv } from "../../../trials/simulation/workerd/kv.ts";
import type { ConversionEvent, KeyedEvent } from "../../../worker/domain/conversion/event.ts";
import { receipted } from "../../../worker/domain/ids/receipt.ts";
import { exportedLine } from "../../../worker/domain/log/log-row.ts";
import { decodePublication } from "../../../worker/domain/model/publication.ts";
import type { Environment } from "../../../worker/environment.ts";
import { Administration } from "../../../worker/learner/calls/administration.ts";
import { Reading } from "../../../worker/learner/calls/reading.ts";
import { Serving } from "../../../worker/learner/calls/serving.ts";
import { type Parts, partsOf } from "../../../worker/learner/parts.ts";
import type { ModelBody } from "../../../worker/protocol/schema.ts";
import { armsOf } from "../../support/logs/arms.ts";
import { stream } from "../../support/scenario.ts";
import { entriesIn } from "../../worker/support/event-source.ts";

// A reward of 0 is what an impression without conversions has. Zeros that are mixed into a stream of a worker change no bit: decisions,
// answers, figures, publications, and the log but for the lines of the zeros, from whatever is sent, restarted, undone or learnt again.

/** Streams in which zeros are mixed. `ZERO_STREAMS=1000 npx vitest run test/property/worker/zeros.test.ts` takes more. */
const STREAMS = Number(process.env.ZERO_STREAMS ?? 6);

const START = 1_795_262_400_000;
const MINUTE_MS = 60_000;
const faultless: Faults = { strikes: () => undefined, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };

const value = { currency: "EUR" };
const BODIES: readonly ModelBody[] = [
  {},
  { goals: { click: { weight: 0.5 }, order: { weight: -1 } }, reward: { min: -1, max: 1 } },
  { goals: { click: { weight: 0 }, order: { weight: 1, after: "click", value } }, holdout: 0.3 },
  { policy: "otf-lin-ts", goals: { click: { weight: 1 }, order: { weight: 1, value, window: { ms: 20 * MINUTE_MS } } } },
  { policy: "gp-ucb-sdf", options: { kernel: { name: "matern52" } }, goals: { click: { weight: 0.5 }, order: { weight: 1 } } },
  { goals: { click: { weight: 0.5 }, order: { weight: 1 } }, minimumShare: 0.2, shadows: [{ name: "other", policy: "otf-lin-ucb" }] },
] as unknown as ModelBody[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  // Writes of KV wait.
  vi.stubGlobal("scheduler", { wait: async () => {} });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

type Event = ConversionEvent | KeyedEvent;

/** A join key in the form that is stored. */
const hash = (key: number): string => `${key}`.padEnd(22, "_");

/** A learner. Its random ids are those of its seed. */
class World {
  readonly disk = new Disk();
  readonly said: unknown[] = [];
  readonly #random: () => number;
  readonly #storage = durableStorage(this.disk, new Isolate("learner", faultless));
  readonly #env = { EVENTS: new Kv(Date.now, faultless) } as unknown as Environment;
  parts!: Parts;
  serving!: Serving;
  administration!: Administration;
  reading!: Reading;

  constructor(seed: number) {
    this.#random = stream(seed);
    this.restart();
  }

  restart(): void {
    this.parts = partsOf(this.#storage, this.#env);
    this.serving = new Serving(this.parts, this.#storage);
    this.administration = new Administration(this.parts);
    this.reading = new Reading(this.parts);
  }

  async do(work: (world: World) => unknown): Promise<unknown> {
    vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => {
      for (let i = 0; i < (bytes as Uint8Array).length; i++) (bytes as Uint8Array)[i] = Math.floor(256 * this.#random());
      return bytes;
    });
    const result = await work(this);
    this.said.push(result);
    return result;
  }

  /** The exported log. */
  async log(): Promise<string[]> {
    const { head, spans, rows: first } = await this.reading.startLog(0);
    const lines: object[] = [{ type: "model", ...head }];
    for (let rows = first; rows.length > 0; rows = await this.reading.log({ ...spans[0], after: rows[rows.length - 1].seq })) {
      lines.push(...rows.map(exportedLine));
    }
    let before = "";
    return lines.map((line) => {
      const { text, receipt } = receipted(line, before);
      before = receipt;
      return text;
    });
  }
}

/** A value as a text, without the parts that number rows of the log. A zero takes a number. */
function unnumbered(given: unknown): string {
  const numbers = ["seq", "version", "modelVersion", "bytes", "catalogue", "to", "receipt", "lines", "kept", "published", "snapshot"];
  return JSON.stringify(given, (name, each) => (numbers.includes(name) ? undefined : each), 1);
}

async function played(seed: number): Promise<{ readonly worlds: readonly World[]; readonly zeros: number; readonly erased: boolean }> {
  vi.setSystemTime(START);
  const random = stream(seed);
  const choose = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)];
  const { options, ...body } = BODIES[seed % BODIES.length] as Partial<ModelBody>;
  const worlds = [new World(seed), new World(seed)];
  const both = async (work: (world: World) => unknown) => {
    for (const world of worlds) await world.do(work);
  };
  const encoder = { dimension: 16 };
  const actions = ["mug", "tent", "lamp"].map((id, i) => ({ id, features: { brand: `${i % 2}` } }));
  await both(async ({ administration }) => {
    await administration.configure("shop", { encoder, ...body, window: { ms: 30 * MINUTE_MS }, options } as ModelBody);
    await administration.setActions(actions);
  });
  const goals = Object.keys(body.goals ?? { click: 1, order: 1 });
  const shown: { readonly id: string; readonly at: number }[] = [];
  const sent: Event[] = [];
  let [zeros, erased, keys] = [0, false, 0];
  const aimed = (): { of: object; at: number } => {
    if (shown.length === 0 || random() < 0.15) {
      const key = choose([keys, keys + 1, Math.max(keys - 1, 0)]);
      return { of: { key: { backend: [hash(key)], page: [hash(-1 - key)] }, byPage: false, action: null }, at: Date.now() };
    }
    const { id, at } = choose(shown);
    return { of: { impression: id }, at };
  };
  const zero = async (given?: Event) => {
    const { of, at } = aimed();
    const own = { goal: choose(goals), event: `no ${choose([1, 2, 3, ++zeros])}`, at: at + Math.floor(random() * 40 * MINUTE_MS), ...of };
    const events = Array.from({ length: choose([1, 1, 2]) }, () => ({ ...(given ?? own), reward: choose([0, -0, 1 / 8192]) }) as Event);
    const [, having] = worlds;
    const { length } = having.said;
    await having.do(({ serving }) => serving.ingest(events));
    having.said.splice(length);
  };
  for (let step = 0; step < 45; step++) {
    vi.setSystemTime(Date.now() + Math.floor(random() * 3 * MINUTE_MS));
    const kind = random();
    if (kind < 0.4) {
      const key = random() < 0.4 ? [[hash(++keys)]] : [];
      const request = { context: { country: `${step % 3}` }, limit: choose([1, 2, 3]), exclude: [], defer: random() < 0.15 };
      await both(({ serving }) => serving.recommend({ ...request, keys: { backend: key, page: [] }, byPage: false } as never));
      const { actions: ranked } = worlds[0].said.at(-1) as { actions: readonly { id: string }[] };
      for (const { id } of ranked) shown.push({ id, at: Date.now() });
    } else if (kind < 0.75) {
      const { of, at } = aimed();
      const reward = choose([1, 0.5, 0.25, null]);
      const event = {
        goal: choose(goals),
        event: `buy ${choose([1, 2])} ${step}`,
        reward,
        at: at + Math.floor(random() * 35 * MINUTE_MS),
        ...of,
      };
      const chosen = sent.length > 0 && random() < 0.25 ? choose(sent) : (event as Event);
      sent.push(chosen);
      // A zero of the event's own name, from before it.
      const draft = async () => {
        if (chosen.reward !== null && random() < 0.4) await zero({ ...chosen, at: chosen.at - choose([0, 1, 1000]) });
      };
      await draft();
      await both(({ serving }) => serving.ingest([chosen]));
      await draft();
    } else if (kind < 0.8 && shown.length > 0) {
      const { id } = choose(shown);
      await both(({ serving }) => serving.activate(id));
    } else if (kind < 0.87) await both(({ parts }) => parts.upkeep.run());
    else if (kind < 0.91) for (const world of worlds) world.restart();
    else if (kind < 0.94) {
      const place = choose([0, 1]);
      await both(async ({ administration, parts }) => {
        const kept = parts.store.editions.list()[place];
        if (kept) await administration.rollBack(kept.version);
      });
    } else if (kind < 0.96 && shown.length > 0) {
      const { id } = choose(shown);
      erased = true;
      await both(({ administration, parts }) => administration.erase(id, parts.store.model.generation));
    } else if (kind < 0.98) {
      const ms = choose([20, 30]) * MINUTE_MS;
      await both(async ({ administration, parts }) => {
        await administration.relearn({ window: { ms } });
        for (let i = 0; i < 5; i++) await parts.upkeep.run();
      });
    }
    while (random() < 0.4) await zero();
  }
  return { worlds, zeros, erased };
}

/** All that a learner tells, but for the numbers of rows. */
async function told({ said, reading, serving }: World): Promise<string> {
  const publication = await decodePublication(await serving.publication());
  const parts = publication?.parts.map((bytes) => Buffer.from(bytes).toString("base64"));
  const log = (await Promise.all([
    reading.describe(),
    reading.metrics(),
    reading.examination(),
    reading.estimates({ country: "1" }),
  ])) as unknown[];
  return unnumbered([said, log, parts]);
}

it(`zeros mixed into ${STREAMS} streams change no bit`, async () => {
  let all = 0;
  for (let seed = 1; seed <= STREAMS; seed++) {
    const { worlds, zeros, erased } = await played(seed);
    const [without, having] = worlds;
    const name = `stream ${seed}`;
    expect(await told(having), name).toBe(await told(without));
    const logs = [await without.log(), await having.log()];
    const saying = (log: readonly string[]) =>
      log.map((text) => JSON.parse(text)).filter(({ type, reward }) => type !== "erased" && !(type === "conversion" && reward === 0));
    expect(unnumbered(saying(logs[1])), name).toBe(unnumbered(saying(logs[0])));
    const read = async (log: readonly string[]) => {
      const { decisions, lists, leftOut } = await lineSource(() => linesOf(log, { receipts: true }), { lists: true, progress: () => {} });
      // Features take long, and are those of the impressions.
      const plain = entriesIn(decisions).map(({ shownAt, index, probability, kept, conversions }) => [
        shownAt,
        index,
        probability,
        kept,
        conversions,
      ]);
      const items = [lists?.lists, lists?.random].map(
        (each) => each && entriesIn(each).map(({ items }) => items.map(({ conversions }) => conversions)),
      );
      const { counts } = await armsOf(log);
      return unnumbered([plain, items, Array.from(leftOut), { ...counts, delays: Array.from(counts.delays) }]);
    };
    expect(await read(logs[1]), name).toBe(await read(logs[0]));
    if (!erased) await verify(() => logs[1]);
    for (const { disk } of worlds) disk.close();
    all += zeros;
  }
  expect(all).toBeGreaterThan(20 * STREAMS);
});
