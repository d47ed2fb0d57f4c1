import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Dashboard } from "../../../../pages/dashboard/dashboard.tsx";
import type { Source } from "../../../../pages/dashboard/source.ts";
import { Refusal } from "../../../../pages/ui/call.ts";
import { moment } from "../../../../pages/ui/notation.ts";
import type { Delay, Metrics } from "../../../../worker/protocol/metrics-answer.ts";
import { busy, explained, idle } from "../../../browser/report.ts";
import { drawnAgain, mounted, stubPage } from "../../../support/mounted.ts";

const unknown = new Refusal(404, "there is nothing here");
const [SHOP, BLOG] = [busy, idle].map(({ model }) => model);
const IMPRESSION = explained.impressionId;

/** A worker with the models shop and blog. */
const worker: Source = {
  models: async () => [busy, idle] as never,
  metrics: async (model) => [busy, idle].find((each) => each.model === model) ?? Promise.reject(unknown),
  explain: async (impression) => (impression === IMPRESSION ? explained : Promise.reject(unknown)),
  examination: () => Promise.reject(unknown),
};
const reporting = (more: Partial<Metrics>): Source => ({ ...worker, metrics: async () => ({ ...busy, ...more }) });

beforeEach(() => {
  stubPage();
  vi.useFakeTimers({ now: busy.now, toFake: ["Date", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

interface Options {
  readonly source?: Source;
  readonly model?: string;
  readonly impression?: string;
  readonly simulated?: boolean;
  readonly refused?: () => void;
  readonly children?: string;
}
const dashboard = async ({ source = worker, model, impression, ...more }: Options = {}) => {
  const page = await mounted(Dashboard, { source, route: { view: "dashboard", model, impression }, ...more });
  await drawnAgain();
  const links = () => page.all("a").map((link) => [link.getAttribute("href"), link.getAttribute("aria-current")]);
  const announced = () =>
    page
      .all("p")[0]
      .childNodes.map(({ text }) => text)
      .join("");
  return { ...page, links, announced };
};

describe("the dashboard", () => {
  it("shows the first model, among links to all of them", async () => {
    const { text, one, links } = await dashboard();
    expect(one("nav", "Models")).toBeDefined();
    expect(links().slice(0, 2)).toEqual([
      ["#dashboard/shop", "page"],
      ["#dashboard/blog", null],
    ]);
    expect(text()).toContain(`shop: policy otf-lin-ts, served at the edge, window 1 d. As of ${moment(busy.now, true)}.`);
  });

  it("shows the model that the address names", async () => {
    const { text, links } = await dashboard({ model: BLOG });
    expect(links().slice(0, 2)).toEqual([
      ["#dashboard/shop", null],
      ["#dashboard/blog", "page"],
    ]);
    expect(text()).toContain("blog: policy otf-lin-ts, served by its learner, window 1 d.");
  });

  it("says how a first model is made, and that a named one is not there", async () => {
    const none = await dashboard({ source: { ...worker, models: async () => [] } });
    expect(none.text()).toMatch(/^No model yet Create one with PUT/);
    const { text, links } = await dashboard({ model: "news" });
    expect(text()).toContain("No model news This worker has no model of this name.");
    expect(text()).not.toContain("policy otf-lin-ts");
    expect(links()).toHaveLength(2);
    expect((await dashboard()).text()).not.toContain("No model");
  });

  it("shows nothing before the first answer", async () => {
    const { text } = await dashboard({ source: { ...worker, models: () => new Promise(() => {}) } });
    expect(text()).toBe("");
  });

  it("puts what its caller adds below the counts", async () => {
    const { text } = await dashboard({ children: "Purchases missed: 3." });
    expect(text()).toMatch(/Encoder .* Purchases missed: 3\. Conversion rate/);
  });
});

describe("an impression of the dashboard", () => {
  it("is to be chosen at first", async () => {
    const { text } = await dashboard();
    expect(text()).toMatch(/Why an impression was shown Choose one of the newest impressions, or paste an impression id\.$/);
  });

  it("is explained, and marked in the list", async () => {
    const { text, links } = await dashboard({ model: SHOP, impression: IMPRESSION });
    expect(text()).toContain("Why boots Close");
    expect(text()).not.toContain("Choose one of the newest");
    expect(links()).toContainEqual([`#dashboard/shop/${IMPRESSION}`, "true"]);
  });

  it("may be unknown to the worker", async () => {
    const { text } = await dashboard({ model: SHOP, impression: "elsewhere" });
    expect(text()).toMatch(/No such impression This worker does not know this id\. [^.]*\.$/);
  });

  it("is not taken for another one whose explanation comes instead", async () => {
    const { text } = await dashboard({ source: { ...worker, explain: async () => explained }, model: SHOP, impression: "other" });
    expect(text()).not.toContain("Why boots");
    expect(text()).not.toContain("No such impression");
  });
});

describe("what the dashboard announces", () => {
  it("is nothing while all is well", async () => {
    expect((await dashboard()).announced()).toBe("");
  });

  it("is a clock that is off", async () => {
    const { announced } = await dashboard({ source: reporting({ now: busy.now - 3_600_000 }) });
    expect(announced()).toBe("This device's clock is 1 h ahead of the worker's. This page does not rely on it.");
  });

  it("is that the data are out of date, which stay, and no longer when the worker answers", async () => {
    const metrics = vi.fn(worker.metrics);
    const { announced, text } = await dashboard({ source: { ...worker, metrics } });
    metrics.mockRejectedValueOnce(new TypeError("Failed to fetch"));
    await vi.advanceTimersByTimeAsync(2000);
    await drawnAgain();
    expect(announced()).toBe("Not up to date: the worker does not answer. Retrying every 2 seconds.");
    expect(text()).toContain("shop: policy otf-lin-ts");
    await vi.advanceTimersByTimeAsync(2000);
    await drawnAgain();
    expect(announced()).toBe("");
  });

  it.each([401, 403])("ends when the worker refuses the key with %d", async (status) => {
    const refused = vi.fn();
    await dashboard({ source: { ...worker, models: () => Promise.reject(new Refusal(status, "no")) }, refused });
    expect(refused).toHaveBeenCalledOnce();
  });

  it("goes on with any other refusal", async () => {
    const refused = vi.fn();
    await dashboard({ source: { ...worker, models: () => Promise.reject(new Refusal(500, "no")) }, refused });
    expect(refused).not.toHaveBeenCalled();
  });
});

describe("a silence", () => {
  const delay: Delay = { ...(busy.delay as Delay), silence: { since: busy.now - 8_640_000, expected: 14, chance: 1e-6, alarm: true } };

  it("of real visitors is an alarm", async () => {
    const { text, all } = await dashboard({ source: reporting({ delay }) });
    expect(text()).toContain("Conversions of shop have stopped");
    expect(all("h2").filter((heading) => heading.getAttribute("role") === "alert")).toHaveLength(1);
    expect(text()).not.toContain("Nobody has bought");
  });

  it("of simulated visitors is none", async () => {
    const { text } = await dashboard({ source: reporting({ delay }), simulated: true });
    expect(text()).toContain("Nobody has bought for 2.4 h.");
    expect(text()).not.toContain("have stopped");
  });
});
