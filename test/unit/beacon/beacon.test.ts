import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type BeaconOptions, createBeacon } from "../../../src/beacon/beacon.ts";
import { closePage, openPage, PageElement, page } from "./page.ts";

const options: BeaconOptions = { url: "https://worker.example", key: "pk_key" };
const ADDRESS = "https://worker.example/v1/shown";
const STORED = `afterclick ${ADDRESS}`;

beforeEach(openPage);
beforeEach(() => void vi.spyOn(console, "error").mockReturnValue());
afterEach(closePage);
afterEach(() => vi.restoreAllMocks());

const elapse = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const ids = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `id-${from + i}`);
const waiting = (stored = STORED): readonly unknown[] => JSON.parse(page.stored.get(stored) ?? "[]");
const answers = (status: number) => async () => new Response(null, { status });
const sizes = () => page.requests.map(({ body }) => body.seen.length);

/** A beacon, and an element of it that is seen. */
function started(own: Partial<BeaconOptions> = {}) {
  const beacon = createBeacon({ ...options, ...own });
  const see = (id: string) => {
    const element = new PageElement() as EventTarget as Element;
    const unwatch = beacon.seen(element, id);
    page.show(element, { share: 1 });
    return unwatch;
  };
  const seeAll = async (all: readonly string[]) => {
    for (const id of all) see(id);
    await elapse(1000);
  };
  return { beacon, see, seeAll };
}

describe("a request", () => {
  it("tells what was seen and reached", async () => {
    const { beacon, see } = started({ url: "https://worker.example/", model: "shop" });
    await elapse(0);
    expect(page.requests).toEqual([]);
    see("a");
    await elapse(1400);
    beacon.reached("b", "click");
    await elapse(499);
    expect(page.requests).toEqual([]);
    await elapse(1);
    const body = { key: "pk_key", model: "shop", seen: ["a", "b"], reached: [{ impressionId: "b", goal: "click" }] };
    expect(page.requests).toMatchObject([{ url: ADDRESS, body, init: { method: "POST", keepalive: true, credentials: "omit" } }]);
    expect(page.stored.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("has at most a hundred items", async () => {
    const { seeAll } = started();
    await seeAll(ids(250));
    await elapse(500);
    expect(sizes()).toEqual([100, 100, 50]);
    expect(waiting()).toEqual([]);
  });

  it("first sends what an earlier page could not", async () => {
    const at = Date.now();
    page.stored.set(STORED, JSON.stringify([["a", null, at]]));
    started();
    await elapse(0);
    expect(sizes()).toEqual([1]);
  });

  it("is followed at once by another for what came meanwhile", async () => {
    const { beacon } = started();
    let release = (_: Response) => {};
    page.answer = () => new Promise((resolve) => (release = resolve));
    beacon.reached("a", "click");
    await elapse(500);
    beacon.reached("b", "click");
    await elapse(2000);
    expect(page.requests.length).toBe(1);
    page.answer = answers(202);
    release(new Response(null, { status: 202 }));
    await elapse(0);
    expect(page.requests.map(({ body }) => body.seen)).toEqual([["a"], ["b"]]);
    expect(page.requests[0].body).not.toHaveProperty("model");
  });
});

describe("an impression or goal", () => {
  it("is reported once by a page", async () => {
    const { beacon, see } = started();
    see("a");
    await elapse(1500);
    see("a");
    beacon.reached("a", "click");
    beacon.reached("a", "click");
    beacon.reached("a", "purchase");
    await elapse(1500);
    const reached = [
      { impressionId: "a", goal: "click" },
      { impressionId: "a", goal: "purchase" },
    ];
    expect(page.requests.map(({ body }) => [body.seen, body.reached])).toEqual([
      [["a"], []],
      [[], reached],
    ]);
  });

  it("without an id is none", async () => {
    const { beacon, see } = started();
    see("");
    beacon.reached("", "click");
    await elapse(5000);
    expect([page.requests, vi.getTimerCount()]).toEqual([[], 0]);
  });

  it("that is no longer watched is not reported", async () => {
    started().see("a")();
    await elapse(5000);
    expect(page.requests).toEqual([]);
  });

  it("is reached by a click", async () => {
    const { beacon } = started();
    const [a, b] = [new PageElement(), new PageElement()];
    beacon.clicked(a as EventTarget as Element, "a");
    const stop = beacon.clicked(b as EventTarget as Element, "b", "cart");
    a.click();
    b.click();
    stop();
    await elapse(500);
    expect(page.requests[0].body.reached).toEqual([
      { impressionId: "a", goal: "click" },
      { impressionId: "b", goal: "cart" },
    ]);
    vi.setSystemTime(Date.now() + 7_200_000);
    beacon.consent(false);
    beacon.consent(true);
    b.click();
    await elapse(500);
    expect(page.requests.length).toBe(1);
  });
});

describe("beacons of two models in one page", () => {
  it("send each their own items, also those of an earlier page", async () => {
    page.stored.set(`${STORED} blog`, JSON.stringify([["old", null, Date.now()]]));
    const [shop, blog] = ["shop", "blog"].map((model) => started({ model }).beacon);
    await elapse(0);
    blog.reached("b", "click");
    await elapse(100);
    shop.reached("a", "click");
    await elapse(500);
    const sent = page.requests.map(({ body }) => [body.model, body.seen]);
    expect(sent).toEqual([
      ["blog", ["old"]],
      ["blog", ["b"]],
      ["shop", ["a"]],
    ]);
  });

  it("keep what waits while the other's consent is withdrawn", () => {
    const [shop, blog] = ["shop", "blog"].map((model) => started({ model }).beacon);
    for (const beacon of [shop, blog]) beacon.reached("a", "click");
    blog.consent(false);
    expect([waiting(`${STORED} shop`).length, waiting(`${STORED} blog`).length]).toEqual([2, 0]);
  });
});

describe("a refusal", () => {
  it.each([400, 413, 422])("%i of the content drops the malformed item alone", async (status) => {
    const { seeAll } = started();
    page.answer = async ({ seen }) => new Response(null, { status: seen.includes("id-2") ? status : 202 });
    await seeAll(ids(4));
    await elapse(500);
    expect(page.requests.map(({ body }) => body.seen)).toEqual([ids(4), ids(2), ids(2, 2), ids(1, 2), ids(1, 3)]);
    expect([waiting(), vi.getTimerCount()]).toEqual([[], 0]);
  });

  it.each([200, 301, 401, 403, 404, 405, 429, 500, 503])("%i for another reason keeps all items for later", async (status) => {
    const { seeAll } = started();
    page.answer = answers(status);
    await seeAll(ids(150));
    await elapse(500);
    expect(sizes()).toEqual([100]);
    expect(waiting().length).toBe(150);
    page.answer = answers(202);
    await elapse(1999);
    expect(sizes()).toEqual([100]);
    await elapse(1);
    expect(sizes()).toEqual([100, 100, 50]);
  });

  it.each([200, 204, 301, 0, 401, 403, 404, 405, 422, 429, 500, 503])(
    "%i is said once, with the answer, unless it passes by itself",
    async (status) => {
      const { beacon } = started();
      page.answer = async () =>
        Object.defineProperty(new Response(status === 204 ? null : "because", { status: status || 200 }), "status", { value: status });
      beacon.reached("a", "click");
      await elapse(60_000);
      const answer = status === 0 ? "with a redirection" : status;
      const words = `afterclick: ${ADDRESS} answered ${answer}: check url, key and model. ${status === 204 ? "" : "because"}`;
      expect(vi.mocked(console.error).mock.calls).toEqual(status < 429 ? [[words]] : []);
      expect(page.requests.length).toBe(status === 422 ? 3 : 5);
      expect(page.requests[0].init.redirect).toBe("manual");
    },
  );

  it("of one half keeps the other half too", async () => {
    const { seeAll } = started();
    page.answer = async ({ seen }) => new Response(null, { status: seen.length > 2 ? 413 : 503 });
    await seeAll(ids(4));
    await elapse(500);
    expect(page.requests.map(({ body }) => body.seen)).toEqual([ids(4), ids(2)]);
    expect(waiting().length).toBe(4);
  });
});

describe("without connection", () => {
  beforeEach(() => {
    page.answer = () => Promise.reject(new TypeError("offline"));
  });

  it("tries again after 2 seconds, then twice as long each time, up to five minutes", async () => {
    started().beacon.reached("a", "click");
    await elapse(500);
    const pauses = [2, 4, 8, 16, 32, 64, 128, 256, 300, 300];
    for (const [i, seconds] of pauses.entries()) {
      await elapse(1000 * seconds - 1);
      expect(page.requests.length).toBe(i + 1);
      await elapse(1);
      expect(page.requests.length).toBe(i + 2);
    }
  });

  it("begins with 2 seconds again after a success", async () => {
    const { beacon } = started();
    beacon.reached("a", "click");
    await elapse(500 + 2000 + 4000);
    page.answer = answers(202);
    await elapse(8000);
    expect(page.requests.length).toBe(4);
    page.answer = () => Promise.reject(new TypeError("offline"));
    beacon.reached("b", "click");
    await elapse(500);
    await elapse(1999);
    expect(page.requests.length).toBe(5);
    await elapse(1);
    expect(page.requests.length).toBe(6);
  });

  it("tries at once when the connection returns", async () => {
    started().beacon.reached("a", "click");
    await elapse(500);
    page.answer = answers(202);
    page.happens("online");
    await elapse(0);
    expect(page.requests.length).toBe(2);
    await elapse(10_000);
    expect(page.requests.length).toBe(2);
  });
});

describe("a page that is left or hidden", () => {
  it.each([
    ["left", () => page.happens("pagehide")],
    ["hidden", () => page.hide(true)],
  ])("gives what waits to beacons, and keeps it for the next page: %s", async (_, leave) => {
    const { seeAll } = started();
    await seeAll(ids(150));
    leave();
    expect(page.beacons.map(({ url, body }) => [url, body.seen])).toEqual([
      [ADDRESS, ids(100)],
      [ADDRESS, ids(50, 100)],
    ]);
    expect(waiting().length).toBe(150);
  });

  it("gives each item to beacons once, unless the page shows again meanwhile", async () => {
    const { beacon } = started();
    page.answer = answers(503);
    beacon.reached("a", "click");
    page.happens("pagehide");
    page.hide(true);
    expect(page.beacons.length).toBe(1);
    beacon.reached("b", "click");
    page.happens("pagehide");
    expect(page.beacons.map(({ body }) => body.seen)).toEqual([["a"], ["a", "b"]]);
    page.hide(false);
    page.hide(true);
    expect(page.beacons.length).toBe(3);
  });

  it("sees nothing while it is hidden, and sends what waits when it shows again", async () => {
    const { beacon, see } = started();
    see("a");
    await elapse(600);
    page.hide(true);
    await elapse(5000);
    expect(waiting()).toEqual([]);
    beacon.reached("b", "click");
    page.hide(false);
    await elapse(0);
    expect(page.requests.map(({ body }) => body.seen)).toEqual([["b"]]);
    expect(page.observed.length).toBe(1);
  });

  it("sees nothing of a page that was rendered ahead before its visitor opens it", async () => {
    page.document.hidden = true;
    const { see } = started();
    see("a");
    await elapse(5000);
    expect([page.observed.length, waiting()]).toEqual([0, []]);
    page.hide(false);
    see("b");
    await elapse(2000);
    expect(page.requests.flatMap(({ body }) => body.seen)).toEqual(["b"]);
  });

  it("does nothing without consent", async () => {
    const { see } = started({ consent: false });
    page.hide(true);
    page.hide(false);
    page.happens("pagehide");
    page.happens("online");
    see("a");
    await elapse(5000);
    expect([page.beacons, page.requests, page.observers, vi.getTimerCount()]).toEqual([[], [], [], 0]);
  });
});

describe("consent", () => {
  it.each([false, "true", 1, null])("is not given by %j", async (consent) => {
    const { beacon } = started({ consent: consent as boolean });
    beacon.reached("a", "click");
    await elapse(5000);
    await beacon.flush();
    expect([page.requests, page.stored.size, page.observers]).toEqual([[], 0, []]);
  });

  it("that comes later counts what happens from then on", async () => {
    const { beacon, see } = started({ consent: false });
    beacon.reached("a", "click");
    see("b");
    beacon.consent(true);
    beacon.reached("c", "click");
    beacon.consent(true);
    await elapse(499);
    expect(page.requests).toEqual([]);
    await elapse(1);
    expect(page.requests.map(({ body }) => body.seen)).toEqual([["c"]]);
    expect(page.observed.length).toBe(1);
  });

  it("that is withdrawn deletes what waits, stops requests and forgets what was noted", async () => {
    const { beacon, see } = started();
    let signal: AbortSignal | undefined;
    page.answer = (_, given) => {
      signal = given;
      return new Promise((_, reject) => given.addEventListener("abort", () => reject(given.reason)));
    };
    beacon.reached("a", "click");
    see("b");
    await elapse(500);
    expect(signal?.aborted).toBe(false);
    beacon.reached("c", "click");
    beacon.consent(false);
    expect([signal?.aborted, page.stored.size, page.observed.length]).toEqual([true, 0, 0]);
    await elapse(10_000);
    expect([page.requests.length, vi.getTimerCount()]).toEqual([1, 0]);

    page.answer = answers(202);
    beacon.consent(true);
    beacon.reached("a", "click");
    await elapse(500);
    expect(page.requests[1].init.signal?.aborted).toBe(false);
    expect(page.requests[1].body.seen).toEqual(["a"]);
    expect(waiting()).toEqual([]);
  });
});

describe("flush", () => {
  it("sends at once, and ends after one attempt", async () => {
    const { beacon } = started();
    beacon.reached("a", "click");
    page.answer = answers(503);
    await beacon.flush();
    expect(page.requests.length).toBe(1);
    expect(waiting().length).toBe(2);
  });

  it("joins a request that is under way", async () => {
    const { beacon } = started();
    beacon.reached("a", "click");
    await Promise.all([beacon.flush(), beacon.flush()]);
    expect(page.requests.length).toBe(1);
    beacon.reached("b", "click");
    await beacon.flush();
    expect(page.requests.length).toBe(2);
  });
});

it("does nothing more once it is closed, and leaves what waits for the next page", async () => {
  const { beacon, see } = started();
  beacon.reached("a", "click");
  see("b");
  beacon.close();
  beacon.consent(true);
  expect([vi.getTimerCount(), page.observed.length]).toEqual([0, 0]);
  beacon.reached("c", "click");
  for (const event of ["online", "pagehide", "visibilitychange"]) page.happens(event);
  await beacon.flush();
  await elapse(10_000);
  expect([page.requests, page.beacons, waiting().length]).toEqual([[], [], 2]);
  started();
  await elapse(0);
  expect(page.requests.map(({ body }) => body.seen)).toEqual([["a"]]);
});
