import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WRONG_KEY } from "../../../pages/dashboard/sign-in.tsx";
import { busy, idle } from "../../browser/report.ts";
import { drawnAgain, type Mounted, PlainNode, pageIn, stubPage } from "../../support/mounted.ts";

const KEY = "afterclick.secret-key";
const location = { hash: "" };
let frame: EventTarget;
let stored: Map<string, string>;
let links: readonly PlainNode[];
/** Answers of the worker by path. Any other path gets 401. */
let answers: Record<string, unknown>;
let asked: { readonly path: string; readonly key: string | undefined }[];

beforeEach(() => {
  vi.resetModules();
  vi.useFakeTimers({ now: busy.now, toFake: ["Date", "setInterval", "clearInterval"] });
  frame = new EventTarget();
  location.hash = "";
  [stored, asked] = [new Map(), []];
  links = ["/#shop", "/#dashboard"].map((href) => {
    const link = new PlainNode("a");
    link.setAttribute("href", href);
    return link;
  });
  const knowledge = { counts: { impressions: 3, pending: 3, converted: 0, expired: 0 }, estimates: [], impressions: [] };
  answers = {
    "/v1/models": { models: [busy, idle] },
    "/v1/models/shop/metrics": busy,
    "/v1/models/demo/recommendations": { windowEndsAt: busy.now + 120_000, actions: [{ impressionId: "i-1", id: "mug" }] },
    "/demo/models": { models: [{ model: "demo" }, { model: "shop" }] },
    "/demo/models/demo/metrics": { ...busy, model: "demo" },
    "/demo/models/shop/metrics": busy,
    "/demo/knowledge": knowledge,
  };
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const storage = {
  getItem: (name: string) => stored.get(name) ?? null,
  setItem: (name: string, value: string) => void stored.set(name, value),
  removeItem: (name: string) => void stored.delete(name),
};
const refusing = new Proxy(storage, {
  get() {
    throw new Error("denied");
  },
});

/** Opens the page. With a publishable key it is the demonstration. */
async function opened(dataset: { readonly publishableKey?: string }, sessionStorage: unknown = storage): Promise<Mounted> {
  const main = Object.assign(new PlainNode("main"), { dataset });
  stubPage({
    ...{ location, sessionStorage },
    addEventListener: frame.addEventListener.bind(frame),
    removeEventListener: frame.removeEventListener.bind(frame),
    fetch: async (path: string, { headers }: { headers?: Record<string, string> } = {}) => {
      asked.push({ path, key: headers?.authorization });
      const body = answers[path.split("?")[0]];
      return body ? Response.json(body) : Response.json({ detail: "no" }, { status: 401 });
    },
  });
  Object.assign(document, { querySelector: () => main, querySelectorAll: () => links });
  await import("../../../pages/index.tsx");
  const page = pageIn(main);
  await settled();
  return page;
}
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await new Promise(setImmediate);
    await drawnAgain();
  }
}
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await settled();
}
async function goTo(hash: string): Promise<void> {
  location.hash = hash;
  frame.dispatchEvent(new Event("hashchange"));
  await settled();
}
const current = () => links.map((link) => link.getAttribute("aria-current"));

describe("the page of a deployed worker", () => {
  it("asks for the secret key, and nothing else", async () => {
    const { text } = await opened({});
    expect([text(), asked]).toEqual([expect.stringMatching(/^Dashboard Secret key Open/), []]);
    expect(current()).toEqual([null, "page"]);
  });

  it("keeps a key in the tab until the reader has it forgotten", async () => {
    const { one, all, send, text } = await opened({});
    await send(one("input", "key"), "input", { value: "sk_1" });
    await send(all("form")[0], "submit");
    await settled();
    expect([...stored]).toEqual([[KEY, "sk_1"]]);
    expect(text()).toMatch(/^This tab keeps the key until you close it\. Forget the key .* shop: policy/);
    expect(new Set(asked.map(({ key }) => key))).toEqual(new Set(["Bearer sk_1"]));
    await send(one("button", "Forget the key"), "click");
    await settled();
    expect([text(), [...stored]]).toEqual([expect.stringMatching(/^Dashboard Secret key Open The value/), []]);
  });

  it("takes the key that the tab keeps", async () => {
    stored.set(KEY, "sk_2");
    const { text } = await opened({});
    expect(text()).toContain("shop: policy otf-lin-ts");
    expect(asked[0]).toEqual({ path: "/v1/models", key: "Bearer sk_2" });
  });

  it("says that the browser keeps no key where it refuses storage", async () => {
    const { one, all, send, text } = await opened({}, refusing);
    await send(one("input", "key"), "input", { value: "sk_1" });
    await send(all("form")[0], "submit");
    await settled();
    expect(text()).toMatch(/^This browser refuses storage, so the page asks for the key again after a reload\./);
  });

  it("forgets a key that the worker no longer takes, and says why it asks again", async () => {
    stored.set(KEY, "sk_old");
    answers = {};
    const { text } = await opened({});
    expect([text(), [...stored]]).toEqual([expect.stringContaining(WRONG_KEY), []]);
  });

  it("shows the model of the address, and follows it", async () => {
    stored.set(KEY, "sk_2");
    location.hash = "#dashboard/shop";
    const { text } = await opened({});
    expect(text()).toContain("shop: policy");
    await goTo("#dashboard/news");
    expect(asked.at(-1)?.path).toBe("/v1/models/news/metrics");
  });
});

describe("the page of the demonstration", () => {
  it("is the shop at first, which asks with the publishable key", async () => {
    const { text } = await opened({ publishableKey: "pk_1" });
    await pass(250);
    expect(text()).toMatch(/It learns before the answers are in .* Recommended for Mira Next visit Enamel mug/);
    expect(asked[0]).toEqual({ path: "/v1/models/demo/recommendations", key: "Bearer pk_1" });
    expect(current()).toEqual(["page", null]);
  });

  it("draws the time that passes", async () => {
    const { text } = await opened({ publishableKey: "pk_1" });
    await pass(250);
    expect(text()).toContain("pending, 2:00 left");
    await pass(5000);
    expect(text()).toContain("pending, 1:55 left");
  });

  it("has the dashboard of its own model, whose visitors are simulated, with the purchases missed", async () => {
    const { text } = await opened({ publishableKey: "pk_1" });
    await goTo("#dashboard");
    expect(text()).toContain("demo: policy");
    expect(text()).toContain("Purchases missed Purchases lost because");
    expect(current()).toEqual([null, "page"]);
    await goTo("#shop");
    expect(text()).toContain("Recommended for Mira");
    expect(current()).toEqual(["page", null]);
  });

  it("has the dashboard of another model without them", async () => {
    const silence = { since: busy.now - 8_640_000, expected: 14, chance: 1e-6, alarm: true };
    const delay = { ...busy.delay, silence };
    answers["/demo/models/shop/metrics"] = { ...busy, delay };
    answers["/demo/models/demo/metrics"] = { ...busy, model: "demo", delay };
    location.hash = "#dashboard/shop";
    const { text } = await opened({ publishableKey: "pk_1" });
    expect(text()).toContain("Conversions of shop have stopped");
    expect(text()).not.toContain("Purchases missed");
    await goTo("#dashboard/demo");
    expect(text()).toContain("Nobody has bought for 2.4 h");
  });
});
