import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Monitor } from "../../../pages/dashboard/monitor.ts";
import { demoSource, keyedSource, type Source } from "../../../pages/dashboard/source.ts";
import { call, Refusal, reasonOf } from "../../../pages/ui/call.ts";

/** A source that records its calls. Its answers are promises that a test may delay. */
let asked: string[];
let answer: (question: string) => Promise<unknown>;
let changes: number;
let page: EventTarget & { hidden: boolean };

const source: Source = {
  models: () => ask("models") as never,
  metrics: (model) => ask(`metrics ${model}`) as never,
  explain: (impression) => ask(`explain ${impression}`) as never,
  examination: (model) => ask(`examination ${model}`) as never,
};
const ask = (question: string): Promise<unknown> => {
  asked.push(question);
  return answer(question);
};
const usual = async (question: string) => (question === "models" ? [{ model: "shop" }, { model: "blog" }] : question);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  page = Object.assign(new EventTarget(), { hidden: false });
  vi.stubGlobal("document", page);
  for (const name of ["addEventListener", "removeEventListener"] as const) vi.stubGlobal(name, page[name].bind(page));
  [asked, changes, answer] = [[], 0, usual];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const settled = () => vi.advanceTimersByTimeAsync(0);
const monitorOf = (of: Source = source) => new Monitor(of, () => changes++);

describe("a monitor", () => {
  it("reads the first model at once, and again every two seconds until it is ended", async () => {
    const monitor = monitorOf();
    const end = monitor.start();
    await settled();
    expect(asked).toEqual(["models", "metrics shop"]);
    expect(monitor).toMatchObject({ metrics: "metrics shop", explanation: undefined, problem: "", refused: false });
    expect(changes).toBe(1);
    await vi.advanceTimersByTimeAsync(1999);
    expect(asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked.slice(2)).toEqual(["metrics shop"]);
    end();
    await vi.advanceTimersByTimeAsync(10_000);
    page.dispatchEvent(new Event("visibilitychange"));
    monitor.show("blog", undefined);
    expect([asked.length, vi.getTimerCount()]).toEqual([3, 0]);
  });

  it("draws nothing any more of what comes after its end", async () => {
    const monitor = monitorOf();
    const end = monitor.start();
    end();
    await settled();
    expect([changes, monitor.metrics]).toEqual([0, undefined]);
  });

  it("asks nothing while nobody looks, and at once when somebody does", async () => {
    monitorOf().start();
    await settled();
    page.hidden = true;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked).toHaveLength(2);
    page.hidden = false;
    page.dispatchEvent(new Event("visibilitychange"));
    expect(asked).toHaveLength(3);
  });

  it("asks nothing while an answer is on its way", async () => {
    answer = () => new Promise(() => {});
    monitorOf().start();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked).toEqual(["models"]);
  });

  it("turns to another model and to an impression, and forgets what was of the other one", async () => {
    const monitor = monitorOf();
    monitor.show("shop", "i-1");
    await settled();
    expect(monitor).toMatchObject({ metrics: "metrics shop", explanation: "explain i-1" });
    monitor.show("shop", "i-2");
    expect(monitor).toMatchObject({ metrics: "metrics shop", explanation: undefined });
    await settled();
    monitor.show("blog", "i-2");
    expect(monitor).toMatchObject({ metrics: undefined, explanation: "explain i-2" });
    await settled();
    expect(monitor.metrics).toBe("metrics blog");
    monitor.show("blog", undefined);
    await settled();
    expect(monitor.explanation).toBeUndefined();
    expect(asked.filter((question) => question === "models")).toHaveLength(1);
  });

  it.each(["model", "impression"])("drops an answer that comes when it has turned to another %s, and asks anew", async (what) => {
    const held: (() => void)[] = [];
    answer = (question) => (question === "models" ? usual(question) : new Promise((resolve) => held.push(() => resolve(question))));
    const monitor = monitorOf();
    monitor.show("shop", "i-1");
    await settled();
    monitor.show(what === "model" ? "blog" : "shop", what === "impression" ? "i-2" : "i-1");
    for (const release of held.splice(0)) release();
    await settled();
    expect([monitor.metrics, monitor.explanation]).toEqual([undefined, undefined]);
    for (const release of held.splice(0)) release();
    await settled();
    expect([monitor.metrics, monitor.explanation]).toEqual(
      what === "model" ? ["metrics blog", "explain i-1"] : ["metrics shop", "explain i-2"],
    );
  });

  it("reads the models again when it is shown one that it does not know", async () => {
    const monitor = monitorOf();
    monitor.start();
    await settled();
    monitor.show("new", undefined);
    await settled();
    expect(asked.slice(2)).toEqual(["models", "metrics new"]);
  });

  it("asks for no metrics while there is no model, and looks for one again", async () => {
    answer = async () => [];
    const monitor = monitorOf();
    monitor.start();
    await settled();
    await vi.advanceTimersByTimeAsync(2000);
    expect(asked).toEqual(["models", "models"]);
    expect(monitor).toMatchObject({ models: [], metrics: undefined, problem: "" });
  });

  it("reads the models again when the reader comes back to the page, and no more after its end", async () => {
    const end = monitorOf().start();
    await settled();
    page.dispatchEvent(new Event("focus"));
    await settled();
    expect(asked.slice(2)).toEqual(["models", "metrics shop"]);
    end();
    page.dispatchEvent(new Event("focus"));
    await settled();
    expect(asked).toHaveLength(4);
  });

  it("names a first model that was deleted, and then reads the first of a new list", async () => {
    let models = [{ model: "shop" }, { model: "blog" }];
    answer = async (question) => {
      if (question === "models") return models;
      if (!models.some(({ model }) => question === `metrics ${model}`)) throw new Refusal(404, "there is no such model");
      return question;
    };
    const monitor = monitorOf();
    monitor.start();
    await settled();
    models = [{ model: "blog" }];
    await vi.advanceTimersByTimeAsync(2000);
    expect(monitor).toMatchObject({ metrics: null, name: "shop", problem: "" });
    await vi.advanceTimersByTimeAsync(2000);
    expect(monitor).toMatchObject({ metrics: "metrics blog", name: "blog" });
    await vi.advanceTimersByTimeAsync(2000);
    expect(asked.filter((question) => question === "models")).toHaveLength(2);
  });

  it("keeps what it has and says why that is not fresh, until it is", async () => {
    const monitor = monitorOf();
    monitor.start();
    await settled();
    answer = () => Promise.reject(new TypeError("Failed to fetch"));
    await vi.advanceTimersByTimeAsync(2000);
    expect(monitor).toMatchObject({
      metrics: "metrics shop",
      problem: "Not up to date: the worker does not answer. Retrying every 2 seconds.",
      refused: false,
    });
    expect(changes).toBe(2);
    answer = usual;
    await vi.advanceTimersByTimeAsync(2000);
    expect(monitor.problem).toBe("");
  });

  it.each([
    [401, true],
    [403, true],
    [500, false],
  ])("says by %d whether the key is refused: %s", async (status, refused) => {
    answer = () => Promise.reject(new Refusal(status, "in its own words"));
    const monitor = monitorOf();
    monitor.start();
    await settled();
    expect(monitor).toMatchObject({ refused, problem: "Not up to date: in its own words. Retrying every 2 seconds." });
  });

  it("says that the worker knows no such impression, and shows the model all the same", async () => {
    answer = (question) => (question.startsWith("explain") ? Promise.reject(new Refusal(404, "unknown")) : usual(question));
    const monitor = monitorOf();
    monitor.show(undefined, "forged");
    await settled();
    expect(monitor).toMatchObject({ explanation: null, metrics: "metrics shop", problem: "" });
    answer = (question) => (question.startsWith("explain") ? Promise.reject(new Refusal(500, "broken")) : usual(question));
    monitor.show(undefined, "other");
    await settled();
    expect(monitor.explanation).toBeUndefined();
    expect(monitor.problem).toContain("broken");
  });
});

describe("a call", () => {
  const responses = (status: number, body: string) =>
    vi.stubGlobal(
      "fetch",
      vi.fn(async () => new Response(body, { status })),
    );

  it("gives the body of an answer", async () => {
    responses(201, '{ "a": 1 }');
    expect(await call("/v1/x", { method: "POST" })).toEqual({ a: 1 });
    expect(fetch).toHaveBeenCalledWith("/v1/x", { method: "POST" });
  });

  it("refuses in the worker's own words, or by its status where it has none", async () => {
    responses(422, '{ "detail": "limit: too many" }');
    await expect(call("/v1/x")).rejects.toMatchObject({ status: 422, message: "limit: too many" });
    responses(502, "<html>");
    await expect(call("/v1/x")).rejects.toMatchObject({ status: 502, message: "the worker answered 502" });
  });

  it("that fails is explained to who looks at the page", () => {
    expect(reasonOf(new Refusal(422, "limit: too many"))).toBe("limit: too many");
    expect(reasonOf(new TypeError("Failed to fetch"))).toBe("the worker does not answer");
  });

  it.each([
    [keyedSource("sk"), "/v1", { headers: { authorization: "Bearer sk" } }],
    [demoSource, "/demo", {}],
  ])("goes to the worker's API with the secret key, and to the demonstration's backend without: %#", async (source, start, init) => {
    responses(200, '{ "models": [1] }');
    expect(await source.models()).toEqual([1]);
    await source.metrics("a/b");
    await source.explain("c d");
    await source.examination("a/b");
    expect(vi.mocked(fetch).mock.calls).toEqual(
      ["/models", "/models/a%2Fb/metrics", "/impressions/c%20d", "/models/a%2Fb/examination"].map((path) => [start + path, init]),
    );
  });
});
