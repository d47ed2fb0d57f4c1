import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Carrier, type Letter, Outbox } from "../../../src/local/outbox.ts";
import { Shelf } from "../../../src/local/shelf.ts";
import { emptyDisk } from "../../support/disk.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const HOUR_MS = 3_600_000;

/** Records the requests to each address and those sent by a beacon, and chooses the answers. */
let sent: [url: string, items: unknown[]][];
let beacons: [to: string, items: readonly unknown[]][];
let answer: (items: unknown[], url: string) => number;
let reports: string[];
let page: EventTarget;
let opened: Outbox[];

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date", "setTimeout", "clearTimeout"] });
  vi.spyOn(Math, "random").mockReturnValue(0);
  [sent, beacons, reports, opened] = [[], [], [], []];
  answer = () => 204;
  page = new EventTarget();
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("fetch", async (url: string, { body }: RequestInit) => {
    const items = JSON.parse(String(body));
    sent.push([url, items]);
    const status = answer(items, url);
    if (status === 0) throw new TypeError("offline");
    return new Response(status === 204 ? null : `says ${status}`, { status });
  });
  emptyDisk();
});
afterEach(() => {
  for (const outbox of opened) outbox.close();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const carrier = (name: string, most: number): Carrier => ({
  most,
  request: (items) => ({ url: `/${name}`, init: { method: "POST", body: JSON.stringify(items) } }),
  beacon: (items) => void beacons.push([name, items]),
});
const carriers = { a: carrier("a", 3), b: carrier("b", 2) };
const shelf = () => new Shelf("outbox", () => {});

function outbox(on: Shelf = shelf(), by: Readonly<Record<string, Carrier>> = carriers): Outbox {
  const made = new Outbox(on, by, { now: Date.now, report: ({ message }) => reports.push(message) });
  opened.push(made);
  return made;
}

const letter = (id: string, more: Partial<Letter> = {}): Letter => ({ id, to: "a", until: NOW + HOUR_MS, item: id, ...more });
const letters = (count: number, more: Partial<Letter> = {}) =>
  Array.from({ length: count }, (_, i) => letter(`${more.to ?? "a"}${i + 1}`, more));
const waiting = async () => (await shelf().startingWith<Letter>("letter ")).map(([key]) => key);

/** Times at which a request was tried within a period, in ms from the start. */
async function triesWithin(ms: number): Promise<number[]> {
  const tries: number[] = [];
  const asked = answer;
  answer = (items, url) => {
    tries.push(Date.now() - NOW);
    return asked(items, url);
  };
  await vi.advanceTimersByTimeAsync(ms);
  return tries;
}

describe("letters", () => {
  it("are gathered for half a second after the last one", async () => {
    const box = outbox();
    await box.put([letter("1")]);
    await vi.advanceTimersByTimeAsync(400);
    await box.put([letter("2")]);
    await vi.advanceTimersByTimeAsync(499);
    expect(sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toEqual([["/a", ["1", "2"]]]);
    expect([box.size, await waiting(), vi.getTimerCount()]).toEqual([0, [], 0]);
  });

  it("go by their carriers, as many together as each takes, in the order in which they came", async () => {
    const box = outbox();
    await box.put([...letters(7), ...letters(4, { to: "b" })]);
    await box.send();
    expect(sent).toEqual([
      ["/a", ["a1", "a2", "a3"]],
      ["/a", ["a4", "a5", "a6"]],
      ["/a", ["a7"]],
      ["/b", ["b1", "b2"]],
      ["/b", ["b3", "b4"]],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("are the same under the same id: the first stands", async () => {
    const box = outbox();
    await box.put([letter("1", { item: "first" })]);
    await box.put([letter("1", { item: "second" }), letter("2")]);
    expect(box.size).toBe(2);
    expect((await shelf().get<Letter>("letter 1"))?.item).toBe("first");
    await box.send();
    expect(sent).toEqual([["/a", ["first", "2"]]]);
  });

  it("are kept over visits until they have arrived, and taken up at once", async () => {
    answer = () => 0;
    const before = outbox();
    await before.put([letter("a1")]);
    await before.send();
    before.close();
    expect(await waiting()).toEqual(["letter a1"]);
    answer = () => 202;
    sent = [];
    const after = outbox();
    await after.open();
    expect([after.size, vi.getTimerCount()]).toEqual([1, 1]);
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).toEqual([["/a", ["a1"]]]);
    expect([after.size, await waiting()]).toEqual([0, []]);
  });

  it("of a carrier that this visit has not wait for one that has it, and nothing is tried meanwhile", async () => {
    const before = outbox();
    await before.put([letter("1"), letter("2", { to: "b" })]);
    before.close();
    const after = outbox(shelf(), { a: carriers.a });
    await after.open();
    await vi.advanceTimersByTimeAsync(1000);
    expect([sent, after.size, vi.getTimerCount()]).toEqual([[["/a", ["1"]]], 1, 0]);
    expect(await waiting()).toEqual(["letter 2"]);
  });

  it("that come while others are sent go right after them", async () => {
    const box = outbox();
    await box.put([letter("1")]);
    answer = (items) => {
      if (items[0] === "1") void box.put([letter("2")]);
      return 204;
    };
    await box.send();
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(sent[1]).toEqual(["/a", ["2"]]);
  });

  it("are sent once, by however many calls at the same time", async () => {
    const box = outbox();
    await box.put([letter("1")]);
    await Promise.all([box.send(), box.send()]);
    expect(sent).toHaveLength(1);
    await box.put([letter("2")]);
    await box.send();
    expect(sent).toHaveLength(2);
  });
});

describe("what is given up", () => {
  it("are the oldest of more than a thousand", async () => {
    const box = outbox();
    await box.put(letters(1000));
    expect([box.size, reports]).toEqual([1000, []]);
    await box.put([letter("last")]);
    expect([box.size, reports]).toEqual([1000, ["1 given up: more than 1000 wait to be sent"]]);
    await box.put([letter("x"), letter("y")]);
    expect(reports[1]).toBe("2 given up: more than 1000 wait to be sent");
    await vi.waitFor(async () => expect(await waiting()).toHaveLength(1000));
    expect(await waiting()).not.toContain("letter a3");
    expect(await waiting()).toContain("letter a4");
  });

  it("is what its window no longer takes, and that alone", async () => {
    const box = outbox();
    await box.put([letter("1"), letter("2", { until: NOW + HOUR_MS + 1 }), letter("3", { until: NOW + HOUR_MS - 1 })]);
    vi.setSystemTime(NOW + HOUR_MS);
    await box.send();
    expect(reports).toEqual(["1 given up: the window has passed"]);
    expect(sent).toEqual([["/a", ["1", "2"]]]);
    expect(await waiting()).toEqual([]);
  });

  it("is said without a reason if that cannot be read", async () => {
    const box = outbox();
    vi.stubGlobal("fetch", async () => ({ ok: false, status: 422, text: () => Promise.reject(new TypeError("aborted")) }));
    await box.put([letter("1")]);
    await box.send();
    expect(reports).toEqual(["1 given up: /a answered 422: "]);
  });

  it("is only the refused one of several: each is tried alone", async () => {
    const box = outbox();
    answer = (items) => (items.includes("a2") ? 422 : 204);
    await box.put(letters(3));
    await box.send();
    expect(sent.map(([, items]) => items)).toEqual([["a1", "a2", "a3"], ["a1"], ["a2"], ["a3"]]);
    expect(reports).toEqual(["1 given up: /a answered 422: says 422"]);
    expect([box.size, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

describe("what is tried again", () => {
  it("comes ever less often, at most every five minutes", async () => {
    const box = outbox();
    answer = () => 0;
    await box.put([letter("1", { until: Number.POSITIVE_INFINITY })]);
    // Random within the upper half of 4, 8, 16... seconds. Here it is always the least value.
    const tries = await triesWithin(HOUR_MS);
    const waits = tries.slice(1).map((at, i) => at - tries[i]);
    expect(tries[0]).toBe(500);
    expect(waits.slice(0, 9)).toEqual([2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 150_000, 150_000]);
    vi.mocked(Math.random).mockReturnValue(1 - 2 ** -53);
    const [first, second] = (await triesWithin(HOUR_MS)).slice(-2);
    expect(second - first).toBe(300_000);
  });

  it("begins again with short waits once all has arrived", async () => {
    const box = outbox();
    answer = () => 0;
    await box.put([letter("1")]);
    await box.send();
    await vi.advanceTimersByTimeAsync(2000);
    expect(sent).toHaveLength(2);
    answer = () => 204;
    await vi.advanceTimersByTimeAsync(4000);
    expect(box.size).toBe(0);
    answer = () => 0;
    await box.put([letter("2")]);
    const start = Date.now() - NOW;
    expect((await triesWithin(2500)).map((at) => at - start)).toEqual([500, 2500]);
  });

  it("does not hold up what goes elsewhere", async () => {
    const box = outbox();
    answer = (_, url) => (url === "/a" ? 503 : 204);
    await box.put([letter("1"), letter("2", { to: "b" })]);
    await box.send();
    expect(sent).toEqual([
      ["/a", ["1"]],
      ["/b", ["2"]],
    ]);
    expect([box.size, await waiting()]).toEqual([1, ["letter 1"]]);
    sent = [];
    await vi.advanceTimersByTimeAsync(1999);
    expect(sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toEqual([["/a", ["1"]]]);
  });

  it("is the one of several that was not settled when each was tried alone", async () => {
    const box = outbox();
    answer = (items) => (items.length > 1 ? 400 : items[0] === "a1" ? 503 : 204);
    await box.put(letters(2));
    await box.send();
    expect([box.size, reports]).toEqual([1, []]);
    sent = [];
    await vi.advanceTimersByTimeAsync(1999);
    expect(sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toEqual([["/a", ["a1"]]]);
  });
});

describe("a delivery", () => {
  const page = "<!doctype html><title>Shop</title>";
  const answered = (status: number, body: string | null = null, more: object = {}) =>
    Object.defineProperties(new Response(body, { status: status || 200 }), {
      ...(status === 0 && { status: { value: 0 }, ok: { value: false }, type: { value: "opaqueredirect" } }),
      ...more,
    });
  const torn = { text: { value: () => Promise.reject(new TypeError("aborted")) } };

  const fates = {
    arrived: [0, [], []],
    "tried again": [1, [], ["letter 1"]],
    "given up": [0, [expect.stringMatching(/^1 given up: \/a answered \d+: because$/)], []],
  };
  it.each([
    ["arrived", [[204], [202], [202, page], [201, '{"impressions":[]}'], [200, '{"conversions":[{"status":"applied"}]}']]],
    ["tried again", [[-1], [408], [425], [429], [500], [503]]],
    [
      "given up",
      [
        [400, "because"],
        [413, "because"],
        [422, "because"],
      ],
    ],
  ] as const)("is %s, by the answer", async (fate, answers) => {
    for (const [status, body = null] of answers) {
      emptyDisk();
      reports = [];
      vi.stubGlobal("fetch", async () => {
        if (status < 0) throw new TypeError("offline");
        return answered(status, body);
      });
      const box = outbox();
      await box.put([letter("1")]);
      await box.send();
      expect([box.size, reports, await waiting()], `${status}`).toEqual(fates[fate]);
      expect(vi.getTimerCount()).toBe(fate === "tried again" ? 1 : 0);
      box.close();
    }
  });

  it.each([
    [200, page, "200: <!doctype html>", "answer 204"],
    [200, "", "200: ", "answer 204"],
    [200, '{"ok":true}', '200: {"ok":true}', "answer 204"],
    [200, "null", "200: null", "answer 204"],
    [201, "[]", "201: []", "answer 204"],
    [0, "", "with a redirection", "name the address"],
    [301, "", "301: ", "name the address"],
    [308, page, "308: <!doctype html>", "name the address"],
    [401, "who?", "401: who?", "Check the key"],
    [403, "CSRF", "403: CSRF", "sign-in and CSRF"],
    [404, page, "404: <!doctype html>", "correct the address"],
    [405, "", "405: ", "add the route"],
    [410, "", "410: ", "correct the address"],
  ])("is not %d %s: what waits is kept, and one report names the cause and the remedy", async (status, body, cause, remedy) => {
    let requests = 0;
    // A page may differ at each request.
    const differing = (text: string) => (text === page ? `${text}${++requests}` : text);
    vi.stubGlobal("fetch", async (_: string, { redirect }: RequestInit) => {
      expect(redirect).toBe("manual");
      return answered(status, differing(body));
    });
    const box = outbox();
    await box.put(letters(5));
    await box.send();
    expect(reports).toEqual([expect.stringContaining(`5 wait: /a answered ${cause}`)]);
    expect(reports[0]).toContain(remedy);
    await triesWithin(HOUR_MS / 2);
    expect([box.size, reports.length, (await waiting()).length]).toEqual([5, 1, 5]);
    vi.setSystemTime(NOW + HOUR_MS + 1);
    await box.send();
    expect([box.size, reports.slice(1)]).toEqual([0, ["5 given up: the window has passed"]]);
  });

  it("is not an answer of 200 that broke: that passes by itself", async () => {
    vi.stubGlobal("fetch", async () => answered(200, "", torn));
    const box = outbox();
    await box.put([letter("1")]);
    await box.send();
    expect([box.size, reports]).toEqual([1, []]);
  });

  it("that another address needs has a report of its own, and so has another fault", async () => {
    let status = 404;
    vi.stubGlobal("fetch", async () => answered(status));
    const box = outbox();
    await box.put([letter("1"), letter("2", { to: "b" })]);
    await box.send();
    status = 401;
    await box.send();
    await box.send();
    expect(reports.map((report) => /(\/\w) answered (\d+)/.exec(report)?.slice(1))).toEqual(
      [404, 401].flatMap((code) => [
        ["/a", `${code}`],
        ["/b", `${code}`],
      ]),
    );
  });
});

describe("the page", () => {
  it("that is online again sends at once", async () => {
    const box = outbox();
    answer = () => 0;
    await box.put([letter("1")]);
    await box.send();
    answer = () => 204;
    page.dispatchEvent(new Event("online"));
    await vi.advanceTimersByTimeAsync(0);
    expect([sent.length, box.size]).toEqual([2, 0]);
  });

  it("that is left sends by beacons all that waits, and keeps it for the next visit", async () => {
    const box = outbox();
    await box.put([...letters(4), letter("b1", { to: "b" })]);
    page.dispatchEvent(new Event("pagehide"));
    expect(beacons).toEqual([
      ["a", ["a1", "a2", "a3"]],
      ["a", ["a4"]],
      ["b", ["b1"]],
    ]);
    expect([sent, box.size, (await waiting()).length]).toEqual([[], 5, 5]);
  });

  it("whose outbox is closed sends nothing any more, and keeps what it is given", async () => {
    const box = outbox();
    await box.put([letter("1")]);
    box.close();
    await box.put([letter("2")]);
    page.dispatchEvent(new Event("online"));
    page.dispatchEvent(new Event("pagehide"));
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect([sent, beacons, vi.getTimerCount()]).toEqual([[], [], 0]);
    expect(["online", "pagehide"].flatMap((event) => getEventListeners(page, event))).toEqual([]);
    expect(await waiting()).toEqual(["letter 1", "letter 2"]);
  });

  it("that forgets drops what waits and what comes, and sends nothing more of what it was sending", async () => {
    const box = outbox();
    await box.put(letters(7));
    answer = () => {
      box.forget();
      return 204;
    };
    await box.send();
    await box.put([letter("1")]);
    await box.send();
    page.dispatchEvent(new Event("pagehide"));
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect([sent, beacons, box.size, vi.getTimerCount()]).toEqual([[["/a", ["a1", "a2", "a3"]]], [], 0, 0]);
    expect(await waiting()).not.toContain("letter 1");
  });

  it("that forgets does not send alone what was refused together", async () => {
    const box = outbox();
    await box.put(letters(3));
    answer = () => {
      box.forget();
      return 422;
    };
    await box.send();
    expect([sent.length, reports]).toEqual([1, []]);
  });

  it("may be a host without events", () => {
    vi.stubGlobal("addEventListener", undefined);
    expect(() => outbox()).not.toThrow();
  });
});
