import { type PolicyFactory, policies, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { dyadicVectors, stream } from "../../support/scenario.ts";
import { call, HOUR_MS } from "../support/client.ts";

/** Limit of a model's policies together, at their largest: WebAssembly memory and snapshots. */
const MOST_BYTES = 64 * 2 ** 20;

let models = 0;
const put = (body: object) => call("PUT", `/v1/models/memory-${++models}`, { window: { ms: HOUR_MS }, ...body });
const gaussian = { kernel: { name: "matern52" } };
const pointsOf = (count: number, dimension: number) => dyadicVectors(stream(5), count, dimension);
const box = (axes: number) => Array.from({ length: axes }, () => [0, 1]);

it.each([
  ["features", { policy: "otf-lin-ts", encoder: { dimension: 1025 } }, "options.dimension: expected at most 1024, got 1025"],
  ["features by age", { encoder: { dimension: 513 } }, "options.dimension: expected at most 512, got 513"],
  [
    "features beside a shadow",
    { policy: "otf-lin-ts", encoder: { dimension: 513 }, shadows: [{ name: "s", policy: "otf-lin-ucb" }] },
    "options.dimension: expected at most 512 beside",
  ],
  [
    "goals",
    { goals: Object.fromEntries(Array.from({ length: 13 }, (_, n) => [`goal-${n}`, { weight: 1 }])) },
    "goals: expected at most 12 with 256 features, got 13",
  ],
  [
    "goals beside a shadow",
    { goals: { a: { weight: 1 }, b: { weight: 1 } }, encoder: { dimension: 512 }, shadows: [{ name: "s", policy: "uniform" }] },
    "options.dimension: expected at most 256 beside",
  ],
  [
    "unique points",
    { policy: "gp-ts-sdf", options: { ...gaussian, capacity: 1025 } },
    "options.capacity: expected at most 1024 with 64 features, got 1025",
  ],
  [
    "features of unique points",
    { policy: "gp-ei", options: { ...gaussian, dimension: 512, capacity: 513 } },
    "options.capacity: expected at most 512 with 512 features",
  ],
  [
    "unique points beside a shadow",
    { policy: "gp-ei", options: { ...gaussian, capacity: 513 }, shadows: [{ name: "s", policy: "uniform" }] },
    "options.capacity: expected at most 512",
  ],
  ["shadows of a Gaussian process", { shadows: ["s", "t"].map((name) => ({ name, policy: "gp-ei" })) }, "shadows: expected at most 1"],
  [
    "points of a domain",
    { policy: "bpe", options: { ...gaussian, domain: { points: pointsOf(513, 4) }, horizon: 100, beta: 1 } },
    "options.domain.points: expected at most 512",
  ],
  [
    "points of one that fits its kernel itself",
    { policy: "delay-gp-ucb", options: { dimension: 512, capacity: 513 } },
    "options.capacity: expected at most 512 with 512 features",
  ],
  [
    "points of a domain of such a one",
    { policy: "delay-gp-ts", options: { domain: { points: pointsOf(513, 4) } } },
    "options.domain.points: expected at most 512",
  ],
  [
    "points of a grid",
    { policy: "delayed-zooming", options: { domain: { box: box(19) }, horizon: 100, resolution: 2 } },
    "options.resolution: expected at most 1 on each of 19 axes",
  ],
  ["balls", { policy: "dlpp", options: { domain: { box: box(6) }, horizon: 100 } }, "options.domain.box: expected at most 5 axes, got 6"],
])("refuses more %s than there is memory for", async (_, body, detail) => {
  const reply = await put(body);
  expect(reply).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/: it would take too much memory$/) } });
  expect(reply.body.detail).toContain(detail);
});

it("lets a Gaussian process keep as many points as there is memory for, unless it is told", async () => {
  const capacity = async (body: object) => (await put({ policy: "gp-ts-sdf", ...body })).body.options.capacity;
  expect(await capacity({ options: gaussian })).toBe(1000);
  expect(await capacity({ options: { ...gaussian, dimension: 1024 } })).toBe(256);
  expect(await capacity({ options: gaussian, shadows: [{ name: "s", policy: "otf-lin-ucb" }] })).toBe(512);
  expect(await capacity({ options: { ...gaussian, capacity: 7 } })).toBe(7);
});

interface Largest {
  readonly policy: string;
  readonly options: object;
  readonly impressions: number;
  readonly domain?: number[][];
}

/**
 * Feeds a policy to its largest size, makes its largest choice, saves it, and publishes it. Returns bytes of memory, snapshot and
 * publication, with the copy that is restored to be published.
 */
async function largest({ policy: id, options, impressions, domain }: Largest, served: boolean): Promise<number> {
  const factory = policies.find((each) => each.id === id) as unknown as PolicyFactory<object>;
  const recommender = await Recommender.create({ policy: factory(options), window: { ms: HOUR_MS } });
  const { policy } = recommender;
  const d = policy.dimension;
  const points = domain ?? pointsOf(impressions, d);
  for (let n = 0; n < impressions; n++) {
    const impression = policy.append({ features: points[n % points.length], round: n + 1, now: Math.floor((n * HOUR_MS) / impressions) });
    policy.observe({ impression, reward: 0.5 });
  }
  const choice = { round: impressions + 1, now: HOUR_MS, decision: "a" };
  const asked = domain ? {} : { points: Float64Array.from(pointsOf(1000, d).flat()) };
  policy.choose({ ...choice, ...asked, ...(served && { draws: 1000, ...(!domain && { limit: 100 }) }) });
  policy.refactor();
  const saved = recommender.snapshot();
  policy.digest();
  const bytes = recommender.memoryBytes + saved.length;
  if (!factory.publishes) return bytes;
  const copy = await Recommender.restore(saved, { policies });
  return bytes + copy.publication().length + copy.memoryBytes;
}

const process = (policy: string, capacity: number, dimension: number) => ({
  policy,
  options: { ...gaussian, capacity, dimension },
  impressions: capacity,
});
const ridge = (dimension: number) => ({ policy: "otf-lin-ts", options: { dimension, norms: "buffered" }, impressions: 10 });
/** Enough to fill all ages. */
const maturing = (dimension: number) => ({ policy: "delay-lin-ts", options: { dimension }, impressions: 200 });
const domain = pointsOf(512, 32);

it.each([
  ["otf-lin-ts of 1024 features", [ridge(1024)]],
  ["otf-lin-ts of 512 features with two shadows", [ridge(512), ridge(512), ridge(512)]],
  ["delay-lin-ts of 512 features", [maturing(512)]],
  ["delay-lin-ts of 256 features with two shadows", [maturing(256), maturing(256), maturing(256)]],
  ["gp-bts of 512 points and as many features", [process("gp-bts", 512, 512)]],
  [
    "delay-gp-ts of 512 points and as many features",
    [{ policy: "delay-gp-ts", options: { capacity: 512, dimension: 512 }, impressions: 530 }],
  ],
  ["gp-bts of 512 points with a shadow", [process("gp-bts", 512, 128), process("gp-bts", 512, 128)]],
  [
    "mini-gp-ucb of 512 points of its own",
    [{ policy: "mini-gp-ucb", options: { ...gaussian, domain: { points: domain }, threshold: 1.01 }, impressions: 1030, domain }],
  ],
])("stays below 64 MB with %s", async (_, together) => {
  const bytes = await Promise.all(together.map((each, place) => largest(each, place === 0)));
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(MOST_BYTES);
});
