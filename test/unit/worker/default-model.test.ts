import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { configureModel, featurizer, type ModelConfig, startModel } from "../../../worker/domain/model/model.ts";
import { publicationParts, restorePolicies } from "../../../worker/domain/model/policies.ts";
import { encodePublication } from "../../../worker/domain/model/publication.ts";
import { actions, contextOf, IMPRESSIONS, learntDefaultModel, MINUTE_MS, START } from "../../support/learnt-default-model.ts";

// Sizes of the worker's default model: the budget, and what docs/sizing.md states.

/** Bytes of a publication. */
async function published(config: ModelConfig, part: Uint8Array): Promise<number> {
  const header = { model: "shop", generation: START, version: IMPRESSIONS, publishedAt: START, config, catalogue: 0 };
  return (await encodePublication({ ...header, parts: [part] })).length;
}

let part: Uint8Array;
const sizes: Record<string, number> = {};

beforeAll(async () => {
  const { config, learner } = await learntDefaultModel();
  const { points: pointsIn } = featurizer(config);
  const saved = learner.snapshot();
  [part] = await publicationParts([saved], [config.policy]);
  const [isolate] = await restorePolicies([part]);
  const points = pointsIn(contextOf(), actions);
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
});
