import { describe, expect, it, vi } from "vitest";
import { story } from "../../../../pages/shop/story.ts";
import { asks, begun, changes, happened, hold, NOW, openShop, page, pass, session, simulated, WINDOW_MS, worker } from "./worker.ts";

openShop();

const purchases = () => happened("purchases").map((all) => all.map(({ impressionId }) => impressionId));

describe("a visit", () => {
  it("is recommended three products with the publishable key, and then asks what the model knows of them", async () => {
    expect(worker.asked).toEqual([
      { path: "/v1/models/demo/recommendations", body: { context: { profile: "mira" }, limit: 3 }, key: "Bearer pk" },
      { path: "/demo/knowledge?profile=mira&impression=i-1&impression=i-2&impression=i-3", body: undefined },
    ]);
    const common = { profile: "mira", shownAt: NOW, windowEndsAt: NOW + WINDOW_MS, status: "pending" };
    const list = ["mug", "tent", "lamp"].map((product, i) => ({ impressionId: `i-${i + 1}`, product, ...common }));
    expect(session.shelf).toEqual(list);
    expect(session.shown).toEqual(list);
    expect(session).toMatchObject({
      counts: { impressions: 3 },
      estimates: [{ id: "mug", belief: { mean: 0.2 } }, { id: "tent" }],
      problem: "",
    });
    expect(changes).toBeGreaterThan(0);
  });

  it("counts as a look until the reader buys or sends visitors", async () => {
    await session.visit();
    expect(session.looks).toBe(2);
    session.buy(session.shelf[0]);
    expect(session.looks).toBe(0);
    await session.visit();
    await simulated(1);
    expect(session.looks).toBe(0);
  });

  it("of another profile asks for that one, and compares with what is expected of that one", async () => {
    worker.means = { mug: 0.5 };
    await session.choose("sam");
    expect(asks("/v1")[1].body).toEqual({ context: { profile: "sam" }, limit: 3 });
    expect(asks("/demo/knowledge")[1].path).toContain("profile=sam&");
    expect([...session.before]).toEqual([["mug", 0.5]]);
    expect(session.shelf.map(({ impressionId }) => impressionId)).toEqual(["i-4", "i-5", "i-6"]);
    expect(session.shown).toHaveLength(6);
  });

  it("stands if it is the later of two", async () => {
    const release = hold();
    const slow = session.visit();
    worker.hold = undefined;
    await session.visit();
    const { shelf } = session;
    release();
    await slow;
    expect(session.shelf).toBe(shelf);
  });

  it("that the worker refuses leaves the shelf, and says why until the worker answers", async () => {
    const { shelf } = session;
    worker.fails = 429;
    await session.visit();
    expect([session.shelf, session.problem]).toEqual([shelf, "too many requests"]);
    worker.fails = 0;
    await session.visit();
    expect(session.problem).toBe("The worker does not answer. Retrying.");
    worker.fails = undefined;
    await session.visit();
    expect(session.problem).toBe("");
  });

  it("drops what is known of a profile that has left meanwhile, and asks for the present one", async () => {
    const release = hold();
    await pass(1000);
    worker.hold = undefined;
    worker.means = { mug: 0.9 };
    await session.choose("aiko");
    const before = asks("/demo/knowledge").length;
    worker.means = { mug: 0.4 };
    release();
    await pass(250);
    expect(asks("/demo/knowledge").slice(before)[0].path).toContain("profile=aiko");
    expect(session.estimates[0].belief.mean).toBe(0.4);
  });
});

describe("a purchase", () => {
  it("is reported once, after the chosen delay", async () => {
    const [mug] = session.shelf;
    session.buy(mug);
    session.buy(mug);
    expect(mug).toMatchObject({ status: "bought", reportAt: NOW + 10_000 });
    await pass(9999);
    expect(purchases()).toEqual([]);
    await pass(1);
    expect(purchases()).toEqual([["i-1"]]);
    expect(mug).toMatchObject({ status: "converted", settledAt: NOW + 10_000 });
    await pass(10_000);
    expect(purchases()).toHaveLength(1);
  });

  it("counts although its report comes after the window", async () => {
    const [mug] = session.shelf;
    session.chooseDelay(60_000);
    await pass(80_000);
    session.buy(mug);
    worker.known = [{ impressionId: "i-1", status: "expired" }];
    await pass(59_000);
    expect(mug.status).toBe("bought");
    await pass(1000);
    expect(happened("purchases")).toEqual([[{ impressionId: "i-1", agoMs: 60_000 }]]);
    expect(mug.status).toBe("converted");
  });

  it("that the reader takes back is reported as a return, once", async () => {
    session.chooseDelay(0);
    const [mug, tent] = session.shelf;
    for (const shown of [mug, tent]) session.buy(shown);
    await session.giveBack(mug);
    expect([mug.status, happened("returns")]).toEqual(["bought", []]);
    await pass(250);
    await session.giveBack(mug);
    await session.giveBack(mug);
    expect(happened("returns")).toEqual([[{ impressionId: "i-1", agoMs: 0 }]]);
    expect(mug.status).toBe("returned");
    const { settledAt } = tent;
    worker.fails = 0;
    await pass(100);
    await session.giveBack(tent);
    expect([tent.status, tent.settledAt, session.problem]).toEqual(["converted", settledAt, "The worker does not answer. Retrying."]);
    worker.fails = undefined;
    await session.giveBack(tent);
    expect([tent.status, session.problem]).toEqual(["returned", ""]);
  });

  it("of a simulated visitor cannot be returned by the reader", async () => {
    const [mug] = session.shelf;
    mug.status = "converted";
    await session.giveBack(mug);
    expect(happened("returns")).toEqual([]);
  });

  it("that is returned after the window stays: the page says so, and the purchase keeps its time", async () => {
    const [mug] = session.shelf;
    session.chooseDelay(0);
    session.buy(mug);
    await pass(WINDOW_MS);
    const { settledAt } = mug;
    worker.status = () => "late";
    await session.giveBack(mug);
    expect(mug).toMatchObject({ status: "converted", settledAt });
    expect(story(mug, Date.now())).toBe("converted after 0:01");
    // Answers that come later do not remove the message.
    await pass(3000);
    expect(session.problem).toBe("The window has ended: the return does not count.");
    await session.visit();
    expect(session.problem).toBe("");
  });

  it("is reported after another delay if another was chosen, together with what else is due", async () => {
    const changed = changes;
    session.chooseDelay(0);
    expect(changes).toBe(changed + 1);
    for (const shown of session.shelf.slice(0, 2)) session.buy(shown);
    await pass(250);
    expect(purchases()).toEqual([["i-1", "i-2"]]);
  });

  it.each([
    ["applied", "converted"],
    ["accepted", "converted"],
    ["duplicate", "converted"],
    ["late", "late"],
    ["unknown", "refused"],
    ["conflict", "refused"],
  ])("that the worker calls %s is %s", async (status, shown) => {
    session.chooseDelay(0);
    worker.status = () => status;
    session.buy(session.shelf[0]);
    await pass(250);
    expect(session.shelf[0].status).toBe(shown);
  });

  it("that was not taken is reported again two seconds later", async () => {
    session.chooseDelay(0);
    session.buy(session.shelf[0]);
    worker.fails = 0;
    await pass(250);
    expect(session.shelf[0]).toMatchObject({ status: "bought", reportAt: NOW + 2250 });
    worker.fails = undefined;
    await pass(1999);
    expect(purchases()).toHaveLength(1);
    await pass(250);
    expect(purchases()).toEqual([["i-1"], ["i-1"]]);
    expect(session.shelf[0].status).toBe("converted");
  });

  it("is reported while another report is under way only after that", async () => {
    session.chooseDelay(0);
    session.buy(session.shelf[0]);
    const release = hold();
    await pass(250);
    session.buy(session.shelf[1]);
    await pass(2000);
    expect(purchases()).toEqual([["i-1"]]);
    release();
    worker.hold = undefined;
    await pass(250);
    expect(purchases()).toEqual([["i-1"], ["i-2"]]);
  });

  it("is compared with what the model expected before", async () => {
    worker.means = { mug: 0.6 };
    await pass(1000);
    expect([...session.before]).toEqual([
      ["mug", 0.2],
      ["tent", 0.1],
    ]);
    session.buy(session.shelf[0]);
    expect([...session.before]).toEqual([["mug", 0.6]]);
  });
});

describe("an impression", () => {
  it("expires after its window, and cannot be bought any more", async () => {
    page.hidden = true;
    session.buy(session.shelf[1]);
    await pass(WINDOW_MS);
    expect(session.shelf[0].status).toBe("pending");
    await pass(250);
    expect(session.shelf[0]).toMatchObject({ status: "expired", settledAt: NOW + WINDOW_MS + 250 });
    expect(session.shelf[1].status).toBe("converted");
    session.buy(session.shelf[0]);
    expect(session.shelf[0].status).toBe("expired");
  });

  it("is what the worker says it is, once that is not pending", async () => {
    worker.known = [
      { impressionId: "i-1", status: "converted" },
      { impressionId: "i-2", status: "pending" },
      { impressionId: "elsewhere", status: "converted" },
    ];
    await pass(1000);
    expect(session.shelf.map(({ status }) => status)).toEqual(["converted", "pending", "pending"]);
    expect(session.shelf[0].settledAt).toBe(NOW + 1000);
    await pass(5000);
    expect(session.shelf[0].settledAt).toBe(NOW + 1000);
  });

  it("is among the last six with which something happened, newest first", async () => {
    for (let i = 1; i < 3; i++) {
      vi.setSystemTime(NOW + i);
      await session.visit();
    }
    session.shown[0].settledAt = NOW + 50;
    expect(session.recent().map(({ impressionId }) => impressionId)).toEqual(["i-1", "i-7", "i-8", "i-9", "i-4", "i-5"]);
  });

  it("is remembered among the last three hundred, or until its purchase is reported", async () => {
    session.buy(session.shelf[1]);
    for (let i = 0; i < 100; i++) await session.visit();
    expect(session.shown.map(({ impressionId }) => impressionId).slice(0, 2)).toEqual(["i-2", "i-4"]);
    expect(session.shown).toHaveLength(301);
  });
});

describe("what the model knows", () => {
  it("is asked every second, but not while nobody looks nor while an answer is on its way", async () => {
    const looks = () => asks("/demo/knowledge").length;
    expect(looks()).toBe(1);
    await pass(750);
    expect(looks()).toBe(1);
    await pass(250);
    expect(looks()).toBe(2);
    page.hidden = true;
    await pass(10_000);
    expect(looks()).toBe(2);
    page.hidden = false;
    worker.hold = new Promise(() => {});
    await pass(10_000);
    expect(looks()).toBe(3);
  });
});

describe("a page that starts over", () => {
  it("has the model forget, forgets what it has shown, and counts looks anew", async () => {
    await simulated(2);
    for (let i = 0; i < 6; i++) await session.visit();
    expect(session.looks).toBe(6);
    await session.startOver();
    expect(asks("/demo/reset")).toMatchObject([{ body: {} }]);
    expect([session.visits, session.shown.length, session.shelf.length, session.looks]).toEqual([[], 3, 3, 1]);
  });

  it("keeps everything if the worker does not answer", async () => {
    const { shown } = session;
    worker.fails = 0;
    await session.startOver();
    expect(session.shown).toBe(shown);
  });

  it("drops the estimates that were on their way, and asks again", async () => {
    const release = hold();
    await pass(1000);
    worker.hold = undefined;
    await session.startOver();
    for (const arrive of [() => {}, release]) {
      arrive();
      await pass(0);
      expect([session.estimates, session.counts, session.before.size]).toEqual([[], undefined, 0]);
    }
    worker.means = { mug: 0.1 };
    await pass(250);
    expect(session).toMatchObject({ counts: { impressions: 3 }, estimates: [{ belief: { mean: 0.1 } }] });
    expect([...session.before]).toEqual([["mug", 0.1]]);
  });

  it("drops the recommendations that were on their way", async () => {
    const release = hold();
    const visit = session.visit();
    worker.hold = undefined;
    await session.startOver();
    const { shelf } = session;
    release();
    await visit;
    expect([session.shelf, session.shown]).toEqual([shelf, shelf]);
  });
});

it("a device with another clock has windows of the same length, and knows how far its clock is off", async () => {
  worker.ahead = -3_600_000;
  const session = await begun();
  expect(session.aheadMs).toBe(3_600_000);
  expect(session.shelf[0].windowEndsAt).toBe(NOW + WINDOW_MS);
  await pass(1000);
  expect(session.shelf[0].status).toBe("pending");
});

it("a page whose worker did not answer at first asks again until it does", async () => {
  worker.fails = 0;
  const session = await begun();
  expect([session.shelf, session.problem]).toEqual([[], "The worker does not answer. Retrying."]);
  worker.fails = undefined;
  await pass(3000);
  expect([session.shelf.length, session.problem]).toEqual([3, ""]);
});
