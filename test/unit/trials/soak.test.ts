import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { otfLinUcb, Recommender } from "afterclick";
import { afterEach, describe, expect, it } from "vitest";
import { type Accepted, breaches, type Evidence, outcomesOf, tally } from "../../../trials/soak/check.ts";
import { foldedDigest } from "../../../trials/soak/fold.ts";
import { outageOf, UNREACHABLE_LEARNER } from "../../../trials/soak/outage.ts";
import { converts, faultOf, type Plan, reportsOf } from "../../../trials/soak/plan.ts";
import { ChaosProxy, REQUEST_NAME } from "../../../trials/soak/proxy.ts";

const plan: Plan = { seed: 1, recommendations: 20_000, conversions: 2000, windowMs: 20_000 };
const indices = Array.from({ length: plan.recommendations }, (_, index) => index);

describe("plan", () => {
  it("converts just as many recommendations as it says, all through the run", () => {
    const converting = indices.filter((index) => converts(plan, index));
    expect([converting.length, converting.filter((index) => index < 10_000).length]).toEqual([2000, 1000]);
  });

  it("has changes, late and belated reports, and none in time whose sending could come too late", () => {
    const reports = indices.slice(0, 2000).flatMap((index) => reportsOf(plan, index));
    const late = reports.filter(({ happensAfter }) => happensAfter > plan.windowMs);
    const belated = reports.filter(({ sentAfter }) => sentAfter === null);
    const count = (type: string) => reports.filter((report) => report.type === type).length;
    // Four standard deviations of a binomial.
    expect(Math.abs(count("conversion.updated") - 200)).toBeLessThan(54);
    expect(Math.abs(count("conversion.retracted") - 200)).toBeLessThan(54);
    expect(Math.abs(late.length - 100)).toBeLessThan(39);
    expect(Math.abs(belated.length - 60)).toBeLessThan(31);
    const inTime = reports.filter(({ happensAfter }) => happensAfter <= plan.windowMs);
    expect(Math.max(...inTime.map(({ sentAfter }) => sentAfter ?? 0))).toBeLessThan(plan.windowMs);
  });

  it("has an outage whose conversions KV may take alone", () => {
    for (const recommendations of [1, 20_000, 100_000]) {
      const { ms, plan: of } = outageOf({ ...plan, recommendations });
      expect(of.windowMs).toBeGreaterThan(ms + 120_000);
      const sent = Array.from({ length: of.recommendations }, (_, index) => reportsOf(of, index)[0].sentAfter ?? 0);
      expect(sent.filter((after) => after > 3000 && after < ms).length).toBeGreaterThan(10);
    }
  });

  it("cuts one request in twenty-five, and none for the third time", () => {
    const cuts = (attempt: number) => indices.slice(0, 2000).map((index) => faultOf(1, `request ${index}`, attempt).cut);
    for (const where of ["before", "after"]) expect(Math.abs(cuts(0).filter((cut) => cut === where).length - 40)).toBeLessThan(26);
    expect(new Set(cuts(2))).toEqual(new Set([null]));
  });
});

describe("proxy", () => {
  let worker: Server | undefined;
  let proxy: ChaosProxy | undefined;
  afterEach(async () => {
    await proxy?.close();
    worker?.closeAllConnections();
    worker?.close();
  });

  /** A worker that records requests, behind a proxy. */
  async function start() {
    const heard: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
    worker = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      heard.push({ headers: request.headers, body });
      response.writeHead(202, { "content-type": "application/json" }).end(JSON.stringify({ heard: heard.length }));
    }).listen(0, "127.0.0.1");
    await once(worker, "listening");
    const target = new URL(`http://127.0.0.1:${(worker.address() as AddressInfo).port}`);
    proxy = new ChaosProxy({ seed: 1, target });
    return { heard, url: await proxy.listen(), proxy };
  }

  /** The name of a request that gets this fault. */
  function named(wanted: Partial<ReturnType<typeof faultOf>>): string {
    const is = (name: string) => {
      const fault = faultOf(1, name, 0);
      return Object.entries(wanted).every(([what, value]) => fault[what as keyof typeof fault] === value);
    };
    return `request ${indices.find((index) => is(`request ${index}`))}`;
  }

  it.each([
    ["before the worker hears of it", "before", 0],
    ["before its answer is heard", "after", 1],
  ] as const)("cuts a connection %s", async (_, cut, times) => {
    const { heard, url, proxy } = await start();
    await expect(fetch(url, { headers: { [REQUEST_NAME]: named({ cut, delayMs: 0 }) } })).rejects.toThrow();
    expect(heard.length).toBe(times);
    expect(proxy.counts).toMatchObject({ cutBefore: 1 - times, cutAfter: times });
  });

  it("sends a webhook twice, the same bytes under the same id, and tells which learner is out of reach", async () => {
    const { heard, url, proxy } = await start();
    const name = `request ${indices.find((index) => faultOf(1, `request ${index}`, 0).echoMs !== null && !faultOf(1, `request ${index}`, 0).cut)}`;
    proxy.cutOff("shop");
    await fetch(url, { method: "POST", headers: { "webhook-id": name }, body: "content" });
    await proxy.echoed();
    const delivery = [name, "content", "shop"];
    expect(heard.map(({ headers, body }) => [headers["webhook-id"], body, headers[UNREACHABLE_LEARNER]])).toEqual([delivery, delivery]);
    proxy.cutOff(null);
    await fetch(url, { headers: { [REQUEST_NAME]: named({ cut: null, delayMs: 0 }) } });
    expect(heard[2].headers[UNREACHABLE_LEARNER]).toBeUndefined();
  });
});

const MINUTE_MS = 60_000;
const shownAt = 100 * MINUTE_MS;
const timing = { windowMs: 20_000, graceMs: 15_000 };
const kill = shownAt + 2000;

function event(webhook: string, impression: string, changes: Partial<Accepted> = {}): Accepted {
  const at = shownAt + 5000;
  return { webhook, impression, shownAt, at, reward: 1, sentAt: at, acceptedAt: at + 100, statuses: ["applied"], ...changes };
}

/** Evidence of a small soak without failures: one impression converted, one restated, one retracted, one late, one lost with its orphan. */
function kept(): Evidence {
  const accepted = [
    event("a", "one"),
    event("b", "two", { statuses: ["duplicate", "duplicate"] }),
    event("c", "two", { at: shownAt + 9000, reward: 0.5 }),
    event("d", "three"),
    event("e", "three", { at: shownAt + 9000, reward: null }),
    event("f", "four", { at: shownAt + 25_000, sentAt: shownAt + 25_000, acceptedAt: shownAt + 26_000, statuses: ["late"] }),
    event("g", "lost", { statuses: ["orphan"] }),
    event("h", "five", { sentAt: shownAt + 5 * MINUTE_MS, acceptedAt: shownAt + 5 * MINUTE_MS, statuses: ["late"] }),
  ];
  const status = new Map([
    ["f", "late"],
    ["g", "orphan"],
    ["h", "late"],
  ]);
  const rewards = new Map([
    ["one", 1],
    ["two", 0.5],
    ["three", 0],
  ]);
  const impressions = ["one", "two", "three", "four", "five"].map((id, i) => {
    return { type: "impression" as const, id, shownAt, round: i + 1, features: [0.5], reward: rewards.get(id) ?? null };
  });
  return {
    timing,
    answered: new Map(["one", "two", "three", "four", "five", "lost"].map((id) => [id, kill - 100])),
    accepted,
    kills: [kill],
    impressions,
    conversions: accepted.map(({ webhook, impression, at, reward }) => {
      return { type: "conversion" as const, event: `${webhook}/0`, impression, at, reward, status: status.get(webhook) ?? "applied" };
    }),
    answeredRewards: rewards,
    counts: { impressions: 5, applied: 5, conflict: 0, late: 2, orphan: 1, duplicate: 3 },
    digest: "d",
    foldedDigest: "d",
  };
}

describe("check", () => {
  it("finds nothing where all promises were kept", () => {
    expect(breaches(kept())).toEqual([]);
    expect(tally(kept())).toEqual({ accepted: 8, joined: 5, late: 2, orphan: 1, pending: 0, journalled: 0, duplicate: 3, lost: 1 });
  });

  it("takes an event once that only KV had, and that its repetition brought to the learner", () => {
    const evidence = kept();
    const accepted = evidence.accepted.with(0, { ...evidence.accepted[0], statuses: ["accepted", "applied"] });
    expect(breaches({ ...evidence, accepted })).toEqual([]);
    expect(tally({ ...evidence, accepted })).toMatchObject({ joined: 5, journalled: 1 });
  });

  type Tampered = readonly [string, (evidence: Evidence) => Partial<Evidence>, RegExp];
  const changed =
    (event: string, change: object) =>
    ({ conversions }: Evidence) => ({
      conversions: conversions.map((each) => (each.event === event ? { ...each, ...change } : each)),
    });
  const tampered: readonly Tampered[] = [
    ["a conversion vanished", ({ conversions }) => ({ conversions: conversions.slice(1) }), /pending conversions .* 1 and 0/],
    ["a conversion is logged twice", ({ conversions }) => ({ conversions: [...conversions, conversions[0]] }), /1 logged twice: a of one/],
    ["an impression is logged twice", ({ impressions }) => ({ impressions: [...impressions, impressions[0]] }), /1 logged twice: one/],
    [
      "a conversion appears from nowhere",
      ({ conversions }) => ({ conversions: [...conversions, { ...conversions[0], event: "x" }] }),
      /1 logged differently than sent: x of one/,
    ],
    ["a conversion was altered", changed("a/0", { reward: 0.25 }), /1 logged differently than sent: a of one/],
    [
      "one in time is called late",
      changed("a/0", { status: "late" }),
      /1 logged with the wrong status: a of one \(late instead of applied\)/,
    ],
    ["a late one is applied", changed("f/0", { status: "applied" }), /f of four \(applied instead of late\)/],
    [
      "one that came after the bucket was closed is applied",
      changed("h/0", { status: "applied" }),
      /h of five \(applied instead of late\)/,
    ],
    ["one whose impression is there is an orphan", changed("a/0", { status: "orphan" }), /a of one \(orphan instead of applied\)/],
    [
      "a restated conversion counts twice",
      ({ impressions }) => ({ impressions: impressions.map((each) => (each.id === "two" ? { ...each, reward: 1.5 } : each)) }),
      /two \(1.5 and 0.5 instead of 0.5\)/,
    ],
    ["the worker tells another reward", () => ({ answeredRewards: new Map([["one", 2]]) }), /one \(1 and 2 instead of 1\)/],
    ["a retraction is ignored", () => ({ answeredRewards: new Map([["three", 1]]) }), /three \(0 and 1 instead of 0\)/],
    ["an impression was lost without a kill", () => ({ kills: [] }), /1 lost without a kill.*: lost/],
    [
      "a lost impression is known after all",
      ({ answeredRewards }) => ({ answeredRewards: new Map([...answeredRewards, ["lost", null]]) }),
      /1 lost .* knows it: lost/,
    ],
    ...[["applied", "applied"], ["duplicate", "applied"], ["accepted", "late"], ["accepted", "applied", "applied"], ["unknown"]].map(
      (statuses): Tampered => [
        `the answers were ${statuses}`,
        ({ accepted }) => ({ accepted: accepted.with(0, { ...accepted[0], statuses }) }),
        new RegExp(`1 answered with an unexpected status: a of one \\(${statuses.join(", then ")}\\)`),
      ],
    ),
    [
      "the worker counts otherwise",
      ({ counts }) => ({ counts: { ...counts, applied: 6 } }),
      /joined conversions counted and logged: got 6 and 5/,
    ],
    [
      "the learner answered while it was out of reach",
      () => ({ outage: { from: shownAt, until: shownAt + 20_000 } }),
      /answered otherwise than accepted during the outage: a of one \(applied\)/,
    ],
    [
      "KV alone took nothing during an outage",
      () => ({ outage: { from: shownAt, until: shownAt + 1 } }),
      /expected conversions answered accepted during the outage, got none/,
    ],
    ["the digests differ", () => ({ foldedDigest: "other" }), /digests of the model and of its folded log: got d and other/],
  ];

  it.each(tampered)("tells that %s", (_, tamper, sentence) => {
    const evidence = kept();
    expect(breaches({ ...evidence, ...tamper(evidence) }).join("\n")).toMatch(sentence);
  });

  it("takes the conversion with the greatest (time, name), in any order", () => {
    const { conversions } = kept();
    expect(outcomesOf(conversions)).toEqual(outcomesOf(conversions.toReversed()));
    expect(outcomesOf(conversions).get("two")).toBe(0.5);
    const tie = [conversions[0], { ...conversions[0], event: "z", reward: 0.25 }];
    expect(outcomesOf(tie).get("one")).toBe(0.25);
  });
});

describe("fold", () => {
  const config = { policy: "otf-lin-ucb", window: { ms: 20_000 }, reward: { min: 0, max: 1 }, seed: 3 };

  it("comes to the digest of the recommender that lived through it", async () => {
    const policy = otfLinUcb({ dimension: 2 });
    const recommender = await Recommender.create({ ...config, policy });
    const features = [
      [0.5, 0.25],
      [-0.5, 0.75],
      [0.125, 0],
    ];
    const impressions = features.map((point, i) => {
      recommender.register({ impressionId: `i${i}`, features: point, now: shownAt + i });
      return { type: "impression" as const, id: `i${i}`, shownAt: shownAt + i, round: i + 1, features: point, reward: null };
    });
    const conversion = { type: "conversion" as const, status: "applied", at: shownAt + 10 };
    const conversions = [
      { ...conversion, event: "x", impression: "i1", reward: 1 },
      { ...conversion, event: "y", impression: "i1", at: shownAt + 20, reward: 0.5 },
      { ...conversion, event: "z", impression: "i2", reward: 1, status: "late" },
    ];
    recommender.convert({ impressionId: "i1", reward: 0.5, at: shownAt + 20 });
    const folding = { ...config, options: policy.options };
    expect(await foldedDigest(folding, impressions, conversions)).toBe(recommender.digest());
    expect(await foldedDigest(folding, impressions, conversions.slice(0, 1))).not.toBe(recommender.digest());
  });
});
