import { createHash } from "node:crypto";
import { otfLinTs, otfLinUcb, Recommender } from "afterclick";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Clock } from "../../local/clock.ts";
import { OwnModel, PublishedModel } from "../../local/index.ts";

// Node has no IndexedDB: everything is kept in memory here, as on a page whose browser refuses storage.

const NOW = Date.parse("2026-11-21T12:00:00Z");
const HOUR_MS = 3_600_000;

const catalogue = ["boots", "hat"].map((id) => ({ id }));

async function publication({ format = 1, damage = false, learnt = 0 } = {}): Promise<Uint8Array<ArrayBuffer>> {
  const recommender = await Recommender.create({ policy: otfLinTs({ dimension: 8 }), window: { ms: HOUR_MS } });
  for (let i = 0; i < learnt; i++) recommender.policy.append({ features: [1, 0, 0, 0, 0, 0, 0, 0], round: i + 1, now: NOW });
  const snapshot = recommender.snapshot();
  const config = { policy: "otf-lin-ts", window: { ms: HOUR_MS }, encoder: { dimension: 8 }, draws: 100, greedy: false, minimumShare: 0 };
  const header = {
    format,
    schema: 1,
    lengths: [snapshot.length],
    model: "shop",
    version: learnt,
    publishedAt: NOW,
    config,
    actions: catalogue,
  };
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const rest = Buffer.concat([length, text, snapshot]);
  const digest = createHash("sha256").update(rest).digest();
  if (damage) rest[100]++;
  return new Uint8Array(Buffer.concat([digest, rest]));
}

/** A network: what is published, what was posted, and how posts are answered. */
let network: {
  published: Uint8Array<ArrayBuffer> | number;
  date: number;
  posted: [path: string, items: unknown[]][];
  answer(items: unknown[]): number;
};
const reports: string[] = [];

beforeEach(async () => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date", "setTimeout", "clearTimeout"] });
  reports.length = 0;
  network = { published: await publication(), date: NOW, posted: [], answer: () => 201 };
  vi.stubGlobal("fetch", async (url: string, { body }: RequestInit) => {
    if (body === undefined) {
      const { published, date } = network;
      if (typeof published === "number") return new Response("no", { status: published });
      return new Response(published, { headers: { etag: `"${published.length}"`, date: new Date(date).toUTCString() } });
    }
    const items = JSON.parse(String(body)) as unknown[];
    const status = network.answer(items);
    if (status === 0) throw new TypeError("offline");
    network.posted.push([new URL(url).pathname, items]);
    return new Response("answered", { status });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const open = (policies = [otfLinTs] as never) =>
  PublishedModel.open({
    url: "https://worker.example/",
    model: "shop",
    key: "pk",
    policies,
    conversions: "https://shop.example/conversions",
    report: ({ message }) => reports.push(message),
  });
const refusals = () => reports.filter((message) => !message.includes("indexedDB"));

describe("a published model", () => {
  it("says of each impression what the worker needs, and nothing else", async () => {
    const model = await open();
    const { actions, windowEndsAt } = model.recommend({ context: { country: "PT" }, limit: 2 });
    expect(await model.send()).toBe(0);
    const [[path, items]] = network.posted;
    expect(path).toBe("/v1/models/shop/impressions");
    expect(items).toEqual(
      actions.map(({ impressionId: id, id: action, probability }) => {
        return { id, action, context: { country: "PT" }, shownAt: NOW, keys: [id], probability };
      }),
    );
    expect(windowEndsAt).toBe(NOW + HOUR_MS);
  });

  it("sends a conversion under one id, however often it is said, as a webhook's body", async () => {
    const model = await open();
    const { impressionId } = model.recommend().actions[0];
    for (let i = 0; i < 3; i++) model.convert({ impressionId, goal: "purchase", reward: 0.5, at: NOW + i });
    await model.send();
    const body = { type: "conversion", timestamp: NOW, data: { model: "shop", key: impressionId, goal: "purchase", reward: 0.5 } };
    expect(network.posted[1]).toEqual(["/conversions", [{ id: `${impressionId}.purchase`, body }]]);
  });

  it("tries again what does not arrive, ever less often, until it does", async () => {
    const model = await open();
    network.answer = () => 0;
    model.recommend();
    expect(await model.send()).toBe(1);
    let tries = 0;
    network.answer = () => (++tries < 4 ? 503 : 201);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([tries, await model.send()]).toEqual([4, 0]);
    expect(refusals()).toEqual([]);
  });

  it("finds the one that is refused among many, gives it up, and says so", async () => {
    const model = await open();
    for (let i = 0; i < 5; i++) model.recommend();
    let third: unknown;
    network.answer = (items) => {
      third ??= items[2];
      return items.some((item) => JSON.stringify(item) === JSON.stringify(third)) ? 422 : 201;
    };
    expect(await model.send()).toBe(0);
    expect(refusals()).toEqual([expect.stringMatching(/^1 given up: .*impressions answered 422: answered$/)]);
  });

  it("gives up what nobody takes any more, and the oldest of more than a thousand", async () => {
    const model = await open();
    network.answer = () => 0;
    for (let i = 0; i < 1001; i++) model.recommend();
    expect(refusals()).toEqual(["1 given up: more than 1000 wait to be sent"]);
    vi.setSystemTime(NOW + HOUR_MS + 1);
    expect(await model.send()).toBe(0);
    expect(refusals()[1]).toBe("1000 given up: the window has passed");
  });

  it("keeps to the server's time, whatever the device's clock says", async () => {
    vi.setSystemTime(NOW - 1e9);
    const model = await open();
    expect(model.recommend().windowEndsAt).toBe(NOW + HOUR_MS);
    vi.setSystemTime(NOW - 2e9);
    expect(model.recommend().windowEndsAt).toBe(NOW + HOUR_MS);
  });

  it.each([
    ["made for a newer version", { format: 2 }, "version"],
    ["damaged", { damage: true }, "checksum"],
  ])("cannot be opened with a snapshot that is %s, and goes on with the one it has", async (_, options, code) => {
    const model = await open();
    network.published = await publication(options);
    await expect(model.refresh()).rejects.toMatchObject({ name: "SnapshotError", code });
    expect(model.version).toBe(0);
    expect(model.recommend().actions).toHaveLength(1);
    await expect(open()).rejects.toMatchObject({ name: "SnapshotError", code });
  });

  it("cannot be opened without its policy, nor where the worker has none for pages", async () => {
    await expect(open([otfLinUcb] as never)).rejects.toMatchObject({ name: "SnapshotError", code: "policy" });
    network.published = 404;
    await expect(open()).rejects.toMatchObject({ name: "UnsupportedError", code: "no-publication" });
  });

  it("takes a newer snapshot", async () => {
    const model = await open();
    network.published = await publication({ learnt: 3 });
    expect([await model.refresh(), model.version]).toEqual([true, 3]);
  });

  it("refuses what is not one of its arguments, and has queued nothing then", async () => {
    const model = await open();
    expect(() => model.recommend({ actions: [{ id: "gloves" }] })).toThrow(/^actions: gloves has no features/);
    expect(() => model.recommend({ limit: 0 })).toThrow(/^limit/);
    expect(() => model.recommend({ context: [1] })).toThrow(/^features: expected them by name/);
    expect(() => model.convert({ impressionId: 7 as never })).toThrow(/^impressionId/);
    expect(() => model.convert({ impressionId: "a", goal: "two words" })).toThrow(/^goal/);
    expect(() => model.convert({ impressionId: "a", reward: Number.NaN })).toThrow(/^reward/);
    await model.send();
    expect(network.posted).toEqual([]);
  });
});

describe("a model of the device's own", () => {
  const own = () =>
    OwnModel.open({ name: "news", policy: otfLinUcb({ dimension: 2 }), window: { ms: HOUR_MS }, report: ({ name }) => reports.push(name) });
  const candidates = [[1, 0]].map((features) => ({ features }));

  it("learns in memory where nothing can be kept, and reports that", async () => {
    const model = await own();
    const { action } = await model.recommend({ candidates });
    expect(await model.convert({ impressionId: action.impressionId, reward: 1 })).toEqual({ status: "applied" });
    expect((await model.recommend({ candidates })).action.mean).toBeGreaterThan(0);
    expect(new Set(reports)).toEqual(new Set(["ReferenceError"]));
  });

  it("stands still while the clock is set back, so that no window opens again", async () => {
    const model = await own();
    const { action } = await model.recommend({ candidates });
    vi.setSystemTime(NOW + 2 * HOUR_MS);
    await model.recommend({ candidates });
    vi.setSystemTime(NOW);
    expect(await model.convert({ impressionId: action.impressionId, reward: 1 })).toEqual({ status: "late" });
  });

  it("has changed nothing when a call is refused", async () => {
    const model = await own();
    const before = await model.snapshot();
    await expect(model.recommend({ candidates: [{ features: [1] }] })).rejects.toThrow(/^candidates\[0\]\.features/);
    await expect(model.convert({ impressionId: "x", reward: 2 })).rejects.toThrow(/^reward/);
    expect(await model.snapshot()).toEqual(before);
    await model.forget();
    expect(await model.snapshot()).toEqual(before);
  });
});

it("has a clock that never goes back, but for a server's", () => {
  const clock = new Clock();
  expect(clock.now()).toBe(NOW);
  vi.setSystemTime(NOW - 5000);
  expect(clock.now()).toBe(NOW);
  clock.correct(NOW - 3000);
  expect(clock.now()).toBe(NOW - 3000);
  vi.setSystemTime(NOW);
  expect(clock.now()).toBe(NOW + 2000);
});
