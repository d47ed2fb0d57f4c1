import { readFile } from "node:fs/promises";
import { policies, Recommender, vocabularyOf } from "afterclick";
import { beforeAll, describe, expect, it } from "vitest";
import { namedAction } from "../../../publication/featurizer.ts";
import { configureModel, featurizer, type ModelConfig, startModel } from "../../../worker/domain/model.ts";
import { publicationParts, restorePolicies } from "../../../worker/domain/policies.ts";
import { encodePublication } from "../../../worker/domain/publication.ts";
import { stream } from "../../support/scenario.ts";

// Sizes of the worker's default model: the budget, and what docs/sizing.md states.

const MINUTE_MS = 60_000;
const START = 1.8e12;
const IMPRESSIONS = 20_000;
const PRODUCTS = 64;

const random = stream(1);
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)];
const actions = Array.from({ length: PRODUCTS }, (_, i) => ({
  id: `product ${i}`,
  features: { category: `category ${i % 8}`, brand: `brand ${i % 12}` },
}));
const contextOf = () => ({ country: oneOf(["PT", "DK", "FR", "DE"]), device: oneOf(["phone", "desktop"]), returning: random() < 0.3 });

/** Learns from impressions of two weeks. A third are viewed at once, and a twentieth bought after about sixteen hours. */
function learn({ policy }: Recommender, vectorOf: () => Float64Array): void {
  const due = new Map<number, ReturnType<typeof policy.append>[]>();
  for (let n = 0; n < IMPRESSIONS; n++) {
    const impression = policy.append({ features: vectorOf(), round: n + 1, now: START + n * MINUTE_MS });
    const at = n + Math.floor(2000 * random());
    const view = { reward: 1, delay: 1000 };
    policy.observe({ impression, reward: 0.1, goals: { before: {}, after: random() < 1 / 3 ? { view } : {} } });
    if (random() < 0.05) due.set(at, [...(due.get(at) ?? []), impression]);
    for (const bought of due.get(n) ?? []) {
      const purchase = { reward: 1, delay: START + n * MINUTE_MS - (bought.now as number) };
      policy.observe({ impression: bought, reward: 0.7, goals: { before: {}, after: { purchase, cart: purchase } } });
    }
  }
  policy.refactor();
}

/** Bytes of a publication. */
async function published(config: ModelConfig, part: Uint8Array): Promise<number> {
  const header = { model: "shop", generation: START, version: IMPRESSIONS, publishedAt: START, config, catalogue: 0 };
  return (await encodePublication({ ...header, parts: [part] })).length;
}

let part: Uint8Array;
const sizes: Record<string, number> = {};

beforeAll(async () => {
  const goals = { view: { weight: 0.1 }, cart: { weight: 0.2 }, purchase: { weight: 0.7 } };
  const configured = await configureModel({ window: { ms: 7 * 86_400_000 }, goals });
  const config = { ...configured, encoder: { ...configured.encoder, vocabulary: vocabularyOf(actions.map(namedAction)) } } as ModelConfig;
  const [learner] = await startModel(config);
  const { vector, matrix } = featurizer(config);
  learn(learner, () => vector(contextOf(), oneOf(actions)));
  const saved = learner.snapshot();
  [part] = await publicationParts([saved], [config.policy]);
  const [isolate] = await restorePolicies([part]);
  const points = matrix(contextOf(), actions);
  const request = { points, round: IMPRESSIONS + 1, now: START + IMPRESSIONS * MINUTE_MS, draws: config.draws, limit: 6, decision: "a" };
  expect(isolate.policy.choose(request)).toEqual(learner.policy.choose(request));
  sizes.publication = await published(config, part);
  sizes.snapshot = saved.length;
  sizes.learner = learner.memoryBytes;
  sizes.isolate = isolate.memoryBytes;
  const local = await configureModel({ window: { ms: 7 * 86_400_000 }, local: true });
  // Its size does not depend on what was learnt.
  sizes.local = await published(local, (await startModel(local))[0].publication());
});

describe("the default model after 20,000 impressions of 64 products", () => {
  it.each([
    ["publication without the catalogue", "publication", 1],
    ["publication of a `local` model with its 64 features", "local", 1],
    ["snapshot", "snapshot", 8],
    ["WebAssembly memory in the learner", "learner", 32],
    ["WebAssembly memory in an isolate", "isolate", 32],
  ])("keeps the budget of its %s, and has the size that the document states", async (name, key, budget) => {
    const megabytes = sizes[key] / 1e6;
    expect(megabytes).toBeLessThanOrEqual(budget);
    const row = new RegExp(`^\\| ${name} \\| ([\\d.]+) MB \\| ${budget} MB \\|$`, "m").exec(await readFile("docs/sizing.md", "utf8"));
    const stated = Number(row?.[1]);
    expect(stated).toBeGreaterThanOrEqual(megabytes);
    expect(stated).toBeLessThan(1.1 * megabytes);
  });

  it("is restored from a publication in 20 ms, in the quickest of ten attempts", async () => {
    const times: number[] = [];
    for (let i = 0; i < 10; i++) {
      const start = performance.now();
      await Recommender.restore(part, { policies });
      times.push(performance.now() - start);
    }
    expect(Math.min(...times)).toBeLessThan(20);
  });
});
