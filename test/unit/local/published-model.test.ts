import {
  delayLinTs,
  encoder,
  type NamedFeatures,
  otfLinTs,
  otfLinUcb,
  type PolicyDescriptor,
  type PolicyFactory,
  Recommender,
  uniform,
} from "afterclick";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Action, PublishedModel, type PublishedModelOptions } from "../../../src/local/index.ts";
import type { Letter } from "../../../src/local/outbox.ts";
import { Shelf } from "../../../src/local/shelf.ts";
import { decode, encode as publicationOf } from "../../../src/publication/codec.ts";
import { emptyDisk, refuse } from "../../support/disk.ts";
import { stream } from "../../support/scenario.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const HOUR_MS = 3_600_000;
const ENCODER = { dimension: 8 };
const EDITION = { generation: NOW - HOUR_MS, version: 7, catalogue: 3, publishedAt: NOW };
const catalogue: Action[] = [{ id: "boots", features: { kind: "shoe" } }, { id: "hat" }, { id: "scarf", features: { kind: "wool" } }];

interface Published {
  readonly policy?: PolicyDescriptor;
  readonly config?: object;
  readonly actions?: readonly Action[];
  readonly generation?: number;
  readonly version?: number;
  readonly catalogue?: number;
  readonly publishedAt?: number;
}

/** A model that has learnt that boots convert, as the worker publishes it. */
async function published({ policy = otfLinTs(ENCODER), config, actions = catalogue, ...about }: Published = {}) {
  const recommender = await Recommender.create({ policy, window: { ms: HOUR_MS }, seed: 3 });
  const { encode } = encoder(ENCODER);
  for (let round = 1; round <= 30; round++) {
    const { dimension } = recommender.policy;
    const features =
      dimension === ENCODER.dimension ? encode({ action: { kind: "shoe", id: "boots" } }) : new Float64Array(dimension).fill(1);
    const impression = recommender.policy.append({ ...(dimension > 0 && { features }), round, now: NOW });
    recommender.policy.observe({ impression, reward: 1 });
  }
  const usual = { policy: policy.id, window: { ms: HOUR_MS }, encoder: ENCODER, draws: 100, greedy: false, minimumShare: 0 };
  return {
    recommender,
    bytes: await publicationOf({ ...EDITION, ...about, model: "shop", config: { ...usual, ...config }, actions }, [
      recommender.publication(),
    ]),
  };
}

/** Simulates the worker: its publication or error status, when it answers, the requests it got, and the posted bodies. */
let worker: { bytes: Uint8Array<ArrayBuffer>; status: number; date: string | null; etag: string | null; ready?: Promise<void> };
let asked: { readonly url: string; readonly headers: Record<string, string> }[];
let posted: [path: string, items: Record<string, unknown>[]][];
let reports: Error[];
let opened: PublishedModel[];

beforeEach(async () => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date", "setTimeout", "clearTimeout"] });
  emptyDisk();
  worker = { bytes: (await published()).bytes, status: 200, date: null, etag: '"7"' };
  [asked, posted, reports, opened] = [[], [], [], []];
  vi.stubGlobal("fetch", async (url: string, { body, headers }: { body?: string; headers: Record<string, string> }) => {
    if (worker.status === 0) throw new TypeError("offline");
    if (body !== undefined) {
      posted.push([url, JSON.parse(body)]);
      return Response.json({ impressions: [] }, { status: 201 });
    }
    asked.push({ url, headers });
    await worker.ready;
    const { bytes, status, date, etag } = worker;
    const unchanged = status === 200 && etag !== null && headers["if-none-match"] === etag;
    const about = { ...(date !== null && { date }), ...(etag !== null && { etag }) };
    if (unchanged) return new Response(null, { status: 304, headers: about });
    return new Response(status === 200 ? bytes : "go away", { status, headers: about });
  });
});
afterEach(() => {
  for (const model of opened) model.close();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

async function open(options: Partial<PublishedModelOptions> = {}): Promise<PublishedModel> {
  const policies: readonly PolicyFactory[] = [otfLinTs, otfLinUcb, delayLinTs, uniform];
  const usual = { url: "https://worker.example", model: "shop", key: "pk_key", policies, report: (error: Error) => reports.push(error) };
  const model = await PublishedModel.open({ ...usual, ...options });
  opened.push(model);
  return model;
}
/** Opens such a model at a first visit. */
async function openWith(options: Published): Promise<PublishedModel> {
  emptyDisk();
  worker.bytes = (await published(options)).bytes;
  return open();
}
const impressions = () => posted.flatMap(([url, items]) => (url.endsWith("/impressions") ? items : []));

/** Values of other types and ranges for a field of a header. */
const OTHERS = [
  undefined,
  null,
  true,
  "x",
  "",
  -1,
  0.5,
  1e300,
  2 ** 40,
  [],
  [null],
  [[]],
  {},
  { ms: "x" },
  { id: 7 },
  { id: "x", features: 3 },
];

/** A header with one field changed, at any depth. */
function altered(value: unknown, random: () => number): unknown {
  const other = () => OTHERS[Math.floor(random() * OTHERS.length)];
  const keys = Object.keys(Object(value));
  if (typeof value !== "object" || keys.length === 0 || random() < 0.15) return other();
  const key = keys[Math.floor(random() * keys.length)];
  const changed = altered((value as Record<string, unknown>)[key], random);
  return Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed };
}

it("refuses a whole publication whose header another program wrote, or decides by it: 500 headers", async () => {
  const { recommender } = await published();
  const config = { policy: "otf-lin-ts", window: { ms: HOUR_MS }, encoder: ENCODER, draws: 100, greedy: false, minimumShare: 0 };
  const header = { ...EDITION, model: "shop", config, actions: catalogue };
  const fates: Record<string, number> = {};
  for (let seed = 0; seed < 500; seed++) {
    emptyDisk();
    const changed = altered(header, stream(seed)) as object;
    worker.bytes = await publicationOf(changed, [recommender.publication()]);
    const fate = await open().then(
      (model) => {
        const { actions } = model.recommend({ context: { country: "PT" }, actions: [{ id: "boots", features: { kind: "shoe" } }] });
        if ((changed as typeof header).actions.length > 0) model.recommend();
        expect(actions.every(({ score }) => Number.isFinite(score))).toBe(true);
        model.close();
        return "decides";
      },
      (error) => `${error.name} ${error.code}`,
    );
    fates[fate] = (fates[fate] ?? 0) + 1;
    if (fate !== "decides") expect(fate, JSON.stringify(changed)).toMatch(/^SnapshotError (malformed|version)$/);
  }
  expect(fates.decides).toBeGreaterThan(50);
  expect(fates["SnapshotError malformed"]).toBeGreaterThan(200);
});

describe("opening", () => {
  it.each(["https://worker.example", "https://worker.example/"])("asks %s for what the model has published, with the key", async (url) => {
    await open({ url });
    expect(asked).toEqual([{ url: "https://worker.example/v1/models/shop/published", headers: { authorization: "Bearer pk_key" } }]);
    expect(reports).toEqual([]);
  });

  it("begins at once with what an earlier visit has kept, and takes what is newer meanwhile", async () => {
    (await open()).close();
    let arrive = () => {};
    const ready = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    worker = { ...worker, bytes: (await published({ version: 8 })).bytes, etag: '"8"', ready };
    const model = await open();
    expect(model.version).toBe(7);
    arrive();
    await vi.waitFor(() => expect(model.version).toBe(8));
    expect(asked.map(({ headers }) => headers["if-none-match"])).toEqual([undefined, '"7"']);
  });

  it("goes on with what it has kept while the worker does not answer, and reports that", async () => {
    await open();
    worker.status = 0;
    const model = await open();
    expect(model.version).toBe(7);
    await vi.waitFor(() => expect(reports).toHaveLength(1));
    expect(reports[0]).toMatchObject({ code: "no-publication", message: "https://worker.example does not answer: offline" });
    expect((await open({ report: undefined })).version).toBe(7);
    await vi.advanceTimersByTimeAsync(0);
  });

  it("reports that what it has kept cannot be read, and waits for the worker", async () => {
    await open();
    const damaged = worker.bytes.slice();
    damaged[60] ^= 1;
    worker = { ...worker, bytes: damaged, etag: '"damaged"' };
    const before = await open({ model: "blog" }).catch((error) => error);
    expect(before).toMatchObject({ code: "checksum" });
    const policies = [otfLinUcb];
    await expect(open({ policies })).rejects.toMatchObject({ code: "checksum" });
    expect(reports).toEqual([expect.objectContaining({ name: "SnapshotError", code: "policy" })]);
    worker = { ...worker, bytes: (await published({ policy: otfLinUcb(ENCODER), version: 9 })).bytes };
    expect((await open({ policies })).version).toBe(9);
  });

  describe("of a policy that another version has written", () => {
    /** The publication as another version writes it; `null`: as a worker does that learns its log again. */
    const foreign = async (format: number | null, about: Published = {}): Promise<Uint8Array<ArrayBuffer>> => {
      const { header, parts } = await decode<object>((await published(about)).bytes);
      const part = parts[0].slice();
      part[4] += format ?? 0;
      return publicationOf(header, format === null ? [] : [part]);
    };

    it.each([1, -1, null])("shows the catalogue in its order, marks it, and takes what it can read (%s)", async (format) => {
      worker = { ...worker, bytes: await foreign(format), etag: '"foreign"' };
      const model = await open();
      expect(model.state).toBe("in-order");
      expect(reports).toEqual([expect.objectContaining({ name: "SnapshotError", code: format === null ? "state-version" : "version" })]);
      const { arm, actions, modelVersion } = model.recommend({ limit: 2 });
      expect([arm, modelVersion, actions.map(({ id, probability }) => [id, probability])]).toEqual([
        "catalogue",
        7,
        [
          ["boots", 1],
          ["hat", 1],
        ],
      ]);
      expect(model.recommend({ actions: [{ id: "scarf" }, { id: "hat" }] }).actions[0].id).toBe("scarf");
      await model.send();
      expect(impressions()).toMatchObject([{ action: "boots", probability: 1 }, { action: "hat", place: 1 }, { action: "scarf" }]);
      worker = { ...worker, bytes: (await published({ version: 8 })).bytes, etag: '"8"' };
      expect([await model.refresh(), model.state, model.recommend().arm]).toEqual([true, "learnt", undefined]);
    });

    it("is left alone by a page that holds one which it can read", async () => {
      const model = await open();
      worker = { ...worker, bytes: await foreign(1, { version: 8 }), etag: '"8"' };
      await expect(model.refresh()).rejects.toMatchObject({ name: "SnapshotError", code: "version" });
      expect([model.version, model.state]).toEqual([7, "learnt"]);
      model.close();
      expect([(await open()).version, (await open()).state]).toEqual([7, "learnt"]);
    });
  });

  it("keeps each model's publication apart, and each worker's", async () => {
    await open();
    worker.status = 0;
    for (const other of [{ model: "blog" }, { url: "https://other.example" }]) await expect(open(other)).rejects.toThrow("does not answer");
    expect((await open({ url: "https://worker.example/" })).version).toBe(7);
  });

  it.each([403, 404, 500])("fails with %d and what the worker says, if there is nothing to decide by", async (status) => {
    worker.status = status;
    await expect(open()).rejects.toMatchObject({
      name: "UnsupportedError",
      code: "no-publication",
      message: `https://worker.example answered ${status}: go away`,
    });
  });

  it("sends what an earlier visit could not", async () => {
    const before = await open();
    worker.status = 0;
    const { impressionId } = before.recommend().actions[0];
    expect(await before.send()).toBe(1);
    before.close();
    worker.status = 200;
    const after = await open();
    await vi.advanceTimersByTimeAsync(0);
    expect(await after.send()).toBe(0);
    expect(impressions().map(({ id }) => id)).toEqual([impressionId]);
  });
});

describe("refreshing", () => {
  it("takes nothing where nothing is newer, and asks for all of it where the worker names no version", async () => {
    const model = await open();
    expect(await model.refresh()).toBe(false);
    expect(asked[1].headers).toEqual({ authorization: "Bearer pk_key", "if-none-match": '"7"' });
    emptyDisk();
    worker.etag = null;
    const nameless = await open();
    expect(await nameless.refresh()).toBe(false);
    expect(asked.at(-1)?.headers["if-none-match"]).toBe("");
  });

  it.each([
    [true, "another model of the name", { generation: EDITION.generation + 1, version: 1, catalogue: 0, publishedAt: NOW - 1 }],
    [true, "more learnt", { version: 8, publishedAt: NOW - 1 }],
    [true, "another catalogue", { catalogue: 4, publishedAt: NOW - 1 }],
    [true, "a later publication of the same", { publishedAt: NOW + 1 }],
    [false, "the model before", { generation: EDITION.generation - 1, version: 8, catalogue: 4, publishedAt: NOW + 1 }],
    [false, "less learnt", { version: 6, catalogue: 4, publishedAt: NOW + 1 }],
    [false, "an earlier catalogue", { catalogue: 2, publishedAt: NOW + 1 }],
    [false, "an earlier publication of the same", { publishedAt: NOW - 1 }],
  ])("takes only what is newer: %s for %s", async (isTaken, _, edition) => {
    const model = await open();
    worker = { ...worker, bytes: (await published({ ...edition, actions: [{ id: "other" }] })).bytes, etag: '"other"' };
    expect(await model.refresh()).toBe(isTaken);
    worker.status = 0;
    for (const each of [model, await open()]) expect(each.recommend().actions[0].id === "other").toBe(isTaken);
    worker.status = 200;
    await model.refresh();
    expect(asked.at(-1)?.headers["if-none-match"]).toBe(isTaken ? '"other"' : '"7"');
  });

  it("is done when the device has kept what came", async () => {
    const model = await open();
    worker = { ...worker, bytes: (await published({ version: 8 })).bytes, etag: '"8"' };
    let release = () => {};
    vi.spyOn(Shelf.prototype, "set").mockReturnValueOnce(
      new Promise((resolve) => {
        release = resolve;
      }),
    );
    let done = false;
    const refreshed = model.refresh().then(() => {
      done = true;
    });
    // Long enough for all other work.
    for (let i = 0; i < 5; i++) await published();
    await new Promise(setImmediate);
    expect(done).toBe(false);
    release();
    await refreshed;
  });

  it("asks once for however many at the same time, and again later", async () => {
    const model = await open();
    await Promise.all([model.refresh(), model.refresh()]);
    expect(asked).toHaveLength(2);
    await model.refresh();
    expect(asked).toHaveLength(3);
  });

  it("keeps nothing that it cannot decide by", async () => {
    const model = await open();
    worker = { ...worker, bytes: worker.bytes.slice(0, 20), etag: '"8"' };
    await expect(model.refresh()).rejects.toMatchObject({ code: "truncated" });
    worker.status = 0;
    expect([(await open()).version, model.version]).toEqual([7, 7]);
  });
});

describe("deciding", () => {
  it.each([otfLinTs, delayLinTs])(
    "gives what the published recommender gives for the same candidates, time and impression (%#)",
    async (factory) => {
      const { recommender } = await published({ policy: factory(ENCODER) });
      const model = await openWith({ policy: factory(ENCODER) });
      const { policy } = recommender;
      const pointsIn = encoder(ENCODER).among(catalogue.map(({ id, features }) => ({ ...features, id }) as NamedFeatures));
      for (let n = 0; n < 20; n++) {
        const context = { country: `c${n % 3}` };
        vi.setSystemTime(NOW + n * 60_000);
        const { actions } = model.recommend({ context, limit: 2 });
        const decision = actions[0].impressionId;
        const choices = policy.choose({ points: pointsIn(context), round: 31, now: Date.now(), decision, limit: 2, draws: 100 });
        expect(actions.map(({ impressionId, ...rest }) => rest)).toEqual(
          choices.map(({ index, score, mean, width, probability }) => ({ id: catalogue[index].id, score, mean, width, probability })),
        );
      }
    },
  );

  it("says by what, and until when conversions count", async () => {
    const model = await openWith({ version: 12, publishedAt: NOW - 5, config: { window: { ms: 5000 } } });
    expect([model.version, model.publishedAt]).toEqual([12, NOW - 5]);
    expect(model.recommend()).toMatchObject({ modelVersion: 12, policy: "otf-lin-ts", windowEndsAt: NOW + 5000 });
  });

  it("shows one action, or as many as are asked for and offered, each as an impression of its own", async () => {
    const model = await open();
    expect(model.recommend().actions).toHaveLength(1);
    expect(model.recommend({ limit: 2 }).actions).toHaveLength(2);
    const { actions } = model.recommend({ limit: 2 ** 40 });
    expect(new Set(actions.map(({ id }) => id))).toEqual(new Set(["boots", "hat", "scarf"]));
    expect(new Set(actions.map(({ impressionId }) => impressionId)).size).toBe(3);
  });

  it("registers nothing without learning, and what was rendered ahead once the visitor opens the page", async () => {
    const model = await open();
    expect(model.recommend({ learn: false }).actions).toHaveLength(1);
    const page = Object.assign(new EventTarget(), { prerendering: true });
    vi.stubGlobal("document", page);
    const { actions } = model.recommend();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(impressions()).toEqual([]);
    page.prerendering = false;
    page.dispatchEvent(new Event("prerenderingchange"));
    await vi.advanceTimersByTimeAsync(1000);
    expect(impressions().map(({ id }) => id)).toEqual([actions[0].impressionId]);
  });

  const chances = (model: PublishedModel) => {
    const stated = new Map<string, number | undefined>();
    for (let i = 0; i < 300; i++) for (const { id, probability } of model.recommend().actions) stated.set(id, probability);
    return stated;
  };

  it("gives every action the model's minimum share", async () => {
    const model = await openWith({ policy: otfLinUcb(ENCODER), config: { minimumShare: 0.2 } });
    const stated = [...chances(model).values()] as number[];
    expect(stated).toHaveLength(3);
    for (const [i, chance] of stated.toSorted().entries()) expect(chance).toBeCloseTo([0.2, 0.2, 0.6][i], 12);
  });

  it("gives no share where the model has none: a policy without chance shows one action, certainly", async () => {
    expect([...chances(await openWith({ policy: otfLinUcb(ENCODER) })).values()]).toEqual([1]);
  });

  it("states a chance only where it is known, to the page and to the worker", async () => {
    const model = await openWith({ config: { draws: 0 } });
    const { actions } = model.recommend({ limit: 2 });
    await model.send();
    for (const each of [...actions, ...impressions()]) expect(each).not.toHaveProperty("probability");
  });

  it("states chances in steps of one of its draws", async () => {
    for (const [draws, step] of [
      [100, 0.01],
      [4, 0.25],
    ]) {
      const stated = [...chances(await openWith({ config: { draws } })).values()] as number[];
      for (const chance of stated) expect(Math.abs(chance / step - Math.round(chance / step))).toBeLessThan(1e-9);
      expect(Math.max(...stated)).toBeGreaterThan(0);
    }
  });

  it("is greedy where the model is: always the best mean, which is the score up to rounded features", async () => {
    const model = await openWith({ config: { greedy: true } });
    expect([...chances(model)]).toEqual([["boots", 1]]);
    const [{ score, mean }] = model.recommend().actions;
    expect(Math.abs(score - mean)).toBeLessThan(0.001);
    expect(chances(await openWith({ config: { greedy: false } })).size).toBeGreaterThan(1);
  });

  it("is asked for in the round after the last impression", async () => {
    const { policy } = (await published()).recommender;
    const choose = vi.spyOn(Object.getPrototypeOf(policy) as typeof policy, "choose");
    (await open()).recommend();
    expect(choose.mock.lastCall?.[0].round).toBe(31);
  });

  it("takes numbers for features where the model has no encoder, be it one", async () => {
    const actions = [
      { id: "boots", features: [1] },
      { id: "hat", features: [0.25] },
    ];
    const model = await openWith({ policy: otfLinUcb({ dimension: 1 }), config: { encoder: null }, actions });
    const [boots, hat] = model.recommend({ limit: 2 }).actions;
    expect([boots.id, hat.id]).toEqual(["boots", "hat"]);
    expect(boots.mean).toBeGreaterThan(0.5);
    expect(hat.mean).toBeCloseTo(boots.mean / 4, 12);
  });

  it("chooses by a policy that looks at no features, among all", async () => {
    const model = await openWith({ policy: uniform(), config: { encoder: null }, actions: [{ id: "boots" }, { id: "hat" }] });
    const stated = chances(model);
    expect(stated.size).toBe(2);
    for (const chance of stated.values()) expect(chance).toBeCloseTo(0.5, 12);
  });

  it("chooses among the actions that it is given: by their own features, or by those of the catalogue", async () => {
    const model = await openWith({ policy: otfLinUcb(ENCODER) });
    const meanOf = (action: Action) => model.recommend({ actions: [action] }).actions[0].mean;
    const boots = meanOf({ id: "boots" });
    expect(boots).toBeGreaterThan(0.1);
    expect(meanOf({ id: "boots", features: { kind: "shoe" } })).toBe(boots);
    expect(meanOf({ id: "boots", features: {} })).not.toBe(boots);
    expect(meanOf({ id: "gloves", features: { kind: "shoe" } })).toBeGreaterThan(0);
    expect(() => model.recommend({ actions: [{ id: "gloves" }] })).toThrow(
      new RangeError("actions: gloves has no features and is not in the catalogue"),
    );
  });

  it("leaves out actions that are not available by the request or by the catalogue, and needs one that is", async () => {
    const actions: Action[] = [{ id: "boots" }, { id: "hat", available: false }];
    const model = await openWith({ actions });
    const chosen = (given: readonly Action[]) => model.recommend({ actions: given, limit: 9 }).actions.map(({ id }) => id);
    const scarf = { id: "scarf", features: { kind: "wool" } };
    expect(
      chosen([
        { id: "boots", available: false },
        { ...scarf, available: true },
        { id: "hat", available: true },
      ]),
    ).toEqual(["scarf"]);
    expect(() => chosen([{ ...scarf, available: false }])).toThrow(new RangeError("actions: expected at least one, as none is available"));
    const bare = await openWith({ actions: [] });
    expect(() => bare.recommend({ actions: [{ id: "boots", available: false }] })).toThrow(
      new RangeError("actions: expected at least one, as none is available"),
    );
  });

  it("takes actions without features as they are where there is no catalogue, and needs some", async () => {
    const model = await openWith({ actions: [] });
    expect(model.recommend({ actions: [{ id: "gloves" }] }).actions[0].id).toBe("gloves");
    expect(() => model.recommend()).toThrow(new RangeError("actions: expected at least one, as there is no catalogue"));
    expect(() => model.recommend({ actions: [] })).toThrow(RangeError);
  });
});

describe("a refused request", () => {
  it.each([
    ["an action that nobody knows", { actions: [{ id: "gloves" }] }, /^actions: gloves/],
    ["no place", { limit: 0 }, /^limit/],
    ["a context of numbers for an encoder of names", { context: [1] }, /^context: expected features by name/],
  ])("for %s registers nothing", async (_, request, message) => {
    const model = await open();
    expect(() => model.recommend(request)).toThrow(message);
    expect(await model.send()).toBe(0);
    expect(posted).toEqual([]);
  });
});

describe("what is registered of each shown action", () => {
  it("is its id, the action, the context, the time, the chance and the place after the first, and nothing else", async () => {
    const model = await open();
    const { actions } = model.recommend({ context: { country: "PT" }, limit: 3 });
    await model.send();
    expect(posted.map(([url]) => url)).toEqual(["https://worker.example/v1/models/shop/impressions"]);
    expect(impressions()).toEqual(
      actions.map(({ impressionId: id, id: action, probability }, place) => {
        return { id, action, context: { country: "PT" }, shownAt: NOW, keys: [id], probability, ...(place > 0 && { place }) };
      }),
    );
  });

  it("has no place beyond those that the worker takes", async () => {
    const model = await openWith({ actions: Array.from({ length: 102 }, (_, i) => ({ id: `a${i}` })) });
    model.recommend({ limit: 102 });
    await model.send();
    expect(impressions().map(({ place }) => place)).toEqual([undefined, ...Array.from({ length: 99 }, (_, i) => i + 1), 99, 99]);
  });

  it("has the features of an action that the catalogue has not, in the order of the places", async () => {
    const model = await open();
    const [gloves, boots] = [
      { id: "gloves", features: { kind: "wool" } },
      { id: "boots", features: { kind: "worn" } },
    ];
    // The worker refuses other fields of an action.
    const given: Action[] = [{ ...gloves, available: true }, { id: "hat" }, { ...boots, price: 7 } as Action];
    const { actions } = model.recommend({ actions: given, limit: 3 });
    await model.send();
    const known: Record<string, unknown> = { gloves, hat: "hat", boots };
    expect(impressions().map(({ action }) => action)).toEqual(actions.map(({ id }) => known[id]));
  });

  it("is what was given at the call, whatever the page changes afterwards", async () => {
    const model = await open();
    const context = { country: "PT" };
    const features: Record<string, string> = { kind: "wool" };
    // As frameworks wrap the state of a page. A structured clone of it would fail.
    model.recommend({ context: new Proxy(context, {}), actions: [{ id: "gloves", features }] });
    context.country = "ES";
    features.kind = "silk";
    await model.send();
    expect(impressions()).toMatchObject([{ context: { country: "PT" }, action: { features: { kind: "wool" } } }]);
  });

  it("is given up once its window has passed", async () => {
    const model = await open();
    model.recommend();
    vi.setSystemTime(NOW + HOUR_MS);
    worker.status = 0;
    expect(await model.send()).toBe(1);
    vi.setSystemTime(NOW + HOUR_MS + 1);
    expect(await model.send()).toBe(0);
    expect(reports.map(({ message }) => message)).toEqual(["1 given up: the window has passed"]);
  });
});

describe("the time", () => {
  it("is the worker's where it says so, the device's otherwise", async () => {
    worker.date = new Date(NOW + 60_000).toUTCString();
    expect((await open()).recommend().windowEndsAt).toBe(NOW + 60_000 + HOUR_MS);
    worker.date = "no date";
    expect((await open({ model: "blog" })).recommend().windowEndsAt).toBe(NOW + HOUR_MS);
  });

  it("is at least that at which an earlier visit got its publication", async () => {
    await open();
    vi.setSystemTime(NOW - 60_000);
    worker.status = 0;
    expect((await open()).recommend().windowEndsAt).toBe(NOW + HOUR_MS);
  });
});

describe("converting", () => {
  const converting = () => open({ conversions: "https://shop.example/conversions" });

  it("tells the shop's own address, once per impression and goal", async () => {
    const model = await converting();
    model.convert({ impressionId: "i-1" });
    model.convert({ impressionId: "i-1", reward: 0.5 });
    model.convert({ impressionId: "i-1", goal: "basket", reward: -2, at: NOW + 0.6 });
    await model.send();
    const item = (goal: string, reward: number, timestamp: number) => ({
      id: `i-1.${goal}`,
      body: { type: "conversion", timestamp, data: { model: "shop", key: "i-1", byPage: true, goal, reward } },
    });
    expect(posted).toEqual([["https://shop.example/conversions", [item("conversion", 1, NOW), item("basket", -2, NOW + 1)]]]);
  });

  it("needs an address of the shop's", async () => {
    const model = await open();
    expect(() => model.convert({ impressionId: "i-1" })).toThrow(new TypeError("conversions: expected the shop's own address, got none"));
  });

  it("takes a goal of up to 64 letters, digits and . : - _", async () => {
    const model = await converting();
    const goals = ["a", "a.b:c-d_9", "x".repeat(64)];
    for (const goal of goals) model.convert({ impressionId: "i-1", goal });
    expect(await model.send()).toBe(0);
    expect(posted[0][1].map(({ id }) => id)).toEqual(goals.map((goal) => `i-1.${goal}`));
  });

  it.each([
    [{ goal: "" }, /^goal: expected 1 to 64 letters, digits or \. : - _, got $/],
    [{ goal: "x".repeat(65) }, /^goal/],
    [{ goal: "two words" }, /^goal/],
    [{ goal: " a" }, /^goal/],
    [{ reward: Number.POSITIVE_INFINITY }, /^reward: expected a finite number, got Infinity/],
    [{ reward: "1" as never }, /^reward/],
    [{ impressionId: undefined as never }, /^impressionId: expected a string, got undefined/],
  ])("refuses %j, and sends nothing", async (wrong, message) => {
    const model = await converting();
    expect(() => model.convert({ impressionId: "i-1", ...wrong })).toThrow(message);
    await model.send();
    expect(posted).toEqual([]);
  });

  it("is given up a window after it happened", async () => {
    const model = await converting();
    model.convert({ impressionId: "i-1", at: NOW - HOUR_MS });
    model.convert({ impressionId: "i-2", at: NOW - HOUR_MS - 1 });
    await model.send();
    expect(posted[0][1].map(({ id }) => id)).toEqual(["i-1.conversion"]);
    expect(reports.map(({ message }) => message)).toEqual(["1 given up: the window has passed"]);
  });
});

describe("leaving", () => {
  it("sends nothing by itself any more, and keeps what waits", async () => {
    const model = await open();
    model.recommend();
    model.close();
    await vi.advanceTimersByTimeAsync(HOUR_MS / 2);
    expect(posted).toEqual([]);
    const again = await open();
    expect(await again.send()).toBe(0);
    expect(impressions()).toHaveLength(1);
  });

  it("keeps each letter under what later versions take it for", async () => {
    const model = await open({ conversions: "/conversions" });
    model.convert({ impressionId: model.recommend().actions[0].impressionId });
    model.close();
    const letters = await new Shelf("https://worker.example/ shop", () => {}).startingWith<Letter>("letter ");
    expect(letters.map(([, { to }]) => to)).toEqual(["impressions", "conversions"]);
  });

  it("forgets all that the device has kept, and sends nothing of it any more", async () => {
    const model = await open();
    model.recommend();
    await model.forget();
    await vi.advanceTimersByTimeAsync(HOUR_MS / 2);
    expect(posted).toEqual([]);
    worker.status = 0;
    await expect(open()).rejects.toThrow("does not answer");
    worker.status = 200;
    const again = await open();
    expect(await again.send()).toBe(0);
    expect(posted).toEqual([]);
  });

  it("keeps nothing of what comes after it has forgotten, and sends nothing of it", async () => {
    (await open()).close();
    let arrive = () => {};
    const ready = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    worker = { ...worker, bytes: (await published({ version: 8 })).bytes, etag: '"8"', ready };
    const model = await open({ conversions: "/conversions" });
    await model.forget();
    arrive();
    await model.refresh();
    const { actions } = model.recommend();
    model.convert({ impressionId: actions[0].impressionId });
    expect([await model.send(), posted]).toEqual([0, []]);
    expect(await new Shelf("https://worker.example/ shop", () => {}).startingWith("")).toEqual([]);
  });

  it("says that it has forgotten when the device has", async () => {
    const model = await open();
    refuse("clear");
    await model.forget();
    expect(reports).toMatchObject([{ name: "QuotaExceededError" }]);
  });
});
