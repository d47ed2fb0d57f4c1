import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Happened } from "../../../pages/shop/api.ts";
import { Session } from "../../../pages/shop/session.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const WINDOW_MS = 120_000;

/** A simulated worker that shows a mug, a tent and a lamp. It records requests and answers purchases. */
let worker: {
  asked: { path: string; body: unknown; key?: string }[];
  status: (impressionId: string) => string;
  means: Record<string, number>;
  known: { impressionId: string; status: string }[];
  fails: number | undefined;
  hold: Promise<void> | undefined;
  /** The worker's time minus the page's. */
  ahead: number;
};
let page: { hidden: boolean };
let changes: number;
let count: number;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date", "setInterval", "clearInterval", "setTimeout", "clearTimeout"] });
  page = { hidden: false };
  [changes, count] = [0, 0];
  worker = { asked: [], status: () => "applied", means: { mug: 0.2, tent: 0.1 }, known: [], fails: undefined, hold: undefined, ahead: 0 };
  vi.stubGlobal("document", page);
  vi.stubGlobal("fetch", async (path: string, { body, headers }: { body?: string; headers?: Record<string, string> } = {}) => {
    const json = body === undefined ? undefined : JSON.parse(body);
    worker.asked.push({ path, body: json, ...(headers?.authorization && { key: headers.authorization }) });
    const { fails, hold } = worker;
    await hold;
    if (fails === 0) throw new TypeError("Failed to fetch");
    if (fails !== undefined) return Response.json({ detail: "too many requests" }, { status: fails });
    if (path.startsWith("/demo/knowledge")) {
      const closed = { impressions: 0, converted: 0 };
      const estimates = Object.entries(worker.means).map(([id, mean]) => ({ id, belief: { mean, low: 0, high: 1 }, closed }));
      return Response.json({ counts: { impressions: 3 }, estimates, impressions: worker.known });
    }
    if (path === "/demo/reset") return Response.json({});
    if (path === "/demo/purchases" || path === "/demo/returns")
      return Response.json({
        conversions: json.happened.map(({ impressionId }: Happened) => ({ impressionId, status: worker.status(impressionId) })),
      });
    const actions = ["mug", "tent", "lamp"].map((id) => ({ impressionId: `i-${++count}`, id }));
    return Response.json({ windowEndsAt: Date.now() + worker.ahead + WINDOW_MS, actions });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
async function begun(): Promise<Session> {
  const session = new Session("pk", () => changes++);
  session.start();
  await pass(0);
  return session;
}
async function simulated(session: Session, visitors: number): Promise<void> {
  const done = session.simulate(visitors);
  for (let left = visitors; left > 10; left -= 10) await pass(600);
  await done;
}
const asks = (start: string) => worker.asked.filter(({ path }) => path.startsWith(start));
const happened = (what: string) => asks(`/demo/${what}`).map(({ body }) => (body as { happened: Happened[] }).happened);
const purchases = () => happened("purchases").map((all) => all.map(({ impressionId }) => impressionId));

describe("a visit", () => {
  it("is recommended three products with the publishable key, and then asks what the model knows of them", async () => {
    const session = await begun();
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
    const session = await begun();
    await session.visit();
    expect(session.looks).toBe(2);
    session.buy(session.shelf[0]);
    expect(session.looks).toBe(0);
    await session.visit();
    await simulated(session, 1);
    expect(session.looks).toBe(0);
  });

  it("of another profile asks for that one, and compares with what is expected of that one", async () => {
    const session = await begun();
    worker.means = { mug: 0.5 };
    await session.choose("sam");
    expect(asks("/v1")[1].body).toEqual({ context: { profile: "sam" }, limit: 3 });
    expect(asks("/demo/knowledge")[1].path).toContain("profile=sam&");
    expect([...session.before]).toEqual([["mug", 0.5]]);
    expect(session.shelf.map(({ impressionId }) => impressionId)).toEqual(["i-4", "i-5", "i-6"]);
    expect(session.shown).toHaveLength(6);
  });

  it("stands if it is the later of two", async () => {
    const session = await begun();
    let release = () => {};
    worker.hold = new Promise((resolve) => {
      release = resolve;
    });
    const slow = session.visit();
    worker.hold = undefined;
    await session.visit();
    const { shelf } = session;
    release();
    await slow;
    expect(session.shelf).toBe(shelf);
  });

  it("that the worker refuses leaves the shelf, and says why until the worker answers", async () => {
    const session = await begun();
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
    const session = await begun();
    let release = () => {};
    worker.hold = new Promise((resolve) => {
      release = resolve;
    });
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
    const session = await begun();
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
    const session = await begun();
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
    const session = await begun();
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
    worker.fails = 0;
    await session.giveBack(tent);
    expect([tent.status, session.problem]).toEqual(["converted", "The worker does not answer. Retrying."]);
  });

  it("of a simulated visitor cannot be returned by the reader", async () => {
    const session = await begun();
    const [mug] = session.shelf;
    mug.status = "converted";
    await session.giveBack(mug);
    expect(happened("returns")).toEqual([]);
  });

  it("is reported after another delay if another was chosen, together with what else is due", async () => {
    const session = await begun();
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
    const session = await begun();
    session.chooseDelay(0);
    worker.status = () => status;
    session.buy(session.shelf[0]);
    await pass(250);
    expect(session.shelf[0].status).toBe(shown);
  });

  it("that was not taken is reported again two seconds later", async () => {
    const session = await begun();
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
    const session = await begun();
    session.chooseDelay(0);
    session.buy(session.shelf[0]);
    let release = () => {};
    worker.hold = new Promise((resolve) => {
      release = resolve;
    });
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
    const session = await begun();
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
    const session = await begun();
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
    const session = await begun();
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
    const session = await begun();
    for (let i = 1; i < 3; i++) {
      vi.setSystemTime(NOW + i);
      await session.visit();
    }
    session.shown[0].settledAt = NOW + 50;
    expect(session.recent().map(({ impressionId }) => impressionId)).toEqual(["i-1", "i-7", "i-8", "i-9", "i-4", "i-5"]);
  });

  it("is remembered among the last three hundred, or until its purchase is reported", async () => {
    const session = await begun();
    session.buy(session.shelf[1]);
    for (let i = 0; i < 100; i++) await session.visit();
    expect(session.shown.map(({ impressionId }) => impressionId).slice(0, 2)).toEqual(["i-2", "i-4"]);
    expect(session.shown).toHaveLength(301);
  });
});

describe("what the model knows", () => {
  it("is asked every second, but not while nobody looks nor while an answer is on its way", async () => {
    await begun();
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
  it("has the model forget, and forgets what it has shown", async () => {
    const session = await begun();
    await simulated(session, 2);
    await session.startOver();
    expect(asks("/demo/reset")).toMatchObject([{ body: {} }]);
    expect([session.visits, session.shown.length, session.shelf.length]).toEqual([[], 3, 3]);
  });

  it("keeps everything if the worker does not answer", async () => {
    const session = await begun();
    const { shown } = session;
    worker.fails = 0;
    await session.startOver();
    expect(session.shown).toBe(shown);
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

describe("simulated visitors", () => {
  const uniformMiss = 0.7 - (0.55 + 0.7 + 0.11 + 0.2 + 0.1 + 0.09 + 0.12 + 0.11) / 8;

  it("are of all kinds, buy what they like, and miss what the model does not show first", async () => {
    const session = await begun();
    // The first profile buys everything without a delay.
    vi.spyOn(Math, "random").mockReturnValue(0);
    await simulated(session, 3);
    expect(session.visitorsLeft).toBe(0);
    expect(session.shown).toHaveLength(12);
    // The shelf follows visitors of its kind.
    expect(session.shelf).toEqual(session.shown.slice(9));
    for (const shown of session.shown.slice(3)) expect(shown).toMatchObject({ profile: "mira", status: "bought", reportAt: NOW });
    // Mira likes the mug best.
    const missed = (visits: number) => ({ favourite: true, model: 0, uniform: expect.closeTo(visits * uniformMiss, 12) });
    expect(session.visits).toEqual([1, 2, 3].map(missed));
    vi.mocked(Math.random).mockReturnValue(0.999);
    await simulated(session, 1);
    expect(session.shown.slice(12)).toMatchObject(
      ["mug", "tent", "lamp"].map((product) => ({ product, profile: "sam", status: "pending" })),
    );
    // Sam's rate is 0.7 for the plant and 0.3 for the mug.
    expect(session.visits[3]).toMatchObject({ favourite: false, model: expect.closeTo(0.4, 12) });
  });

  it("buy by their tastes, after a delay of four seconds on average and twenty at most", async () => {
    const session = await begun();
    const random = vi.spyOn(Math, "random");
    // Mira's draws: the mug is below 0.7, with a delay of -ln(1/2) * 4 s. The tent is not below 0.55. The lamp is below 0.11, with the longest delay.
    for (const draw of [0, 0.699, 0.5, 0.55, 0.109, 0.9999]) random.mockReturnValueOnce(draw);
    await simulated(session, 1);
    const [mug, tent, lamp] = session.shown.slice(3);
    expect([mug.status, tent.status, lamp.status]).toEqual(["bought", "pending", "bought"]);
    expect(mug.reportAt).toBeCloseTo(NOW + 4000 * Math.LN2, 3);
    expect([tent.reportAt, lamp.reportAt]).toEqual([undefined, NOW + 20_000]);
  });

  it("come ten at once, and no others until they have come", async () => {
    const session = await begun();
    worker.hold = new Promise(() => {});
    void session.simulate(20);
    await pass(0);
    expect(asks("/v1")).toHaveLength(11);
    expect(session.visitorsLeft).toBe(10);
    void session.simulate(50);
    expect(session.visitorsLeft).toBe(10);
  });

  it("miss nothing where nothing could be shown", async () => {
    const session = await begun();
    worker.fails = 429;
    await simulated(session, 5);
    expect([session.visits, session.visitorsLeft]).toEqual([[], 0]);
  });

  it("are followed by a few stragglers while purchases are reported, and by a new shelf after the last report", async () => {
    const session = await begun();
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    await simulated(session, 1);
    // Sam buys nothing.
    random.mockReturnValue(0.999);
    const [early, late] = session.shown.slice(3);
    early.reportAt = Date.now() + 4250;
    late.reportAt = Date.now() + 9000;
    const { shelf } = session;
    await pass(4500);
    expect(session.visits).toHaveLength(2);
    expect(session.shelf).toBe(shelf);
    await pass(5000);
    expect(session.shown.every(({ status }) => status !== "bought")).toBe(true);
    const agos = happened("purchases").flatMap((all) => all.map(({ agoMs }) => agoMs));
    expect(agos.every((agoMs) => Number.isInteger(agoMs) && agoMs >= 0)).toBe(true);
    expect(session.shelf.map(({ profile, status }) => [profile, status])).toEqual(Array(3).fill(["mira", "pending"]));
    expect(session.shelf).not.toBe(shelf);
  });

  it("leave a shelf alone from which the reader has bought, until that purchase is reported", async () => {
    const session = await begun();
    const { shelf } = session;
    session.buy(shelf[0]);
    vi.spyOn(Math, "random").mockReturnValue(0);
    await simulated(session, 1);
    expect(session.shelf).toBe(shelf);
    await pass(9000);
    expect(session.shelf).toBe(shelf);
    await pass(3000);
    expect(session.shelf).not.toBe(shelf);
  });
});
