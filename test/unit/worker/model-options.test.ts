import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { table, withTables } from "../../../cli/command/markdown.ts";
import { configureModel, reconfigureModel, withDefaults } from "../../../worker/domain/model/model.ts";
import { relearntModel } from "../../../worker/domain/model/relearnt-model.ts";
import { document } from "../../../worker/openapi/document.ts";
import { optionTable } from "../../../worker/openapi/model-options.ts";
import { DEFAULT_TEXTS, DEFAULTS, MEANINGS, modelOptions, type OptionName, storedSchemas } from "../../../worker/protocol/model-options.ts";
import { type ModelBody, modelBody } from "../../../worker/protocol/schema.ts";
import { parsed } from "../../../worker/protocol/validation.ts";

const window = { ms: 3_600_000 };
const names = Object.keys(modelOptions) as OptionName[];

/** Two values of each option. The second is the larger one of two numbers. */
const VALUES: { readonly [Name in OptionName]-?: readonly [NonNullable<ModelBody[Name]>, NonNullable<ModelBody[Name]>] } = {
  window: [window, { ms: 7_200_000 }],
  policy: ["delay-lin-ts", "otf-lin-ts"],
  options: [{ ridge: 1 }, { ridge: 2 }],
  reward: [
    { min: 0, max: 1 },
    { min: 0, max: 2 },
  ],
  encoder: [{ dimension: 16 }, { dimension: 32 }],
  seed: [1, 2],
  goals: [{ click: { weight: 1 } }, { click: { weight: 2 } }],
  examination: [
    [1, 0.5],
    [1, 0.25],
  ],
  prior: [{ sales: [] }, { sales: [{ action: "mug", sales: 61, views: 1800 }], from: 0, until: 5 }],
  shadows: [[], [{ name: "other", policy: "uniform" }]],
  serving: ["edge", "learner"],
  draws: [10, 20],
  greedy: [false, true],
  holdout: [0.1, 0.2],
  minimumShare: [0.01, 0.02],
  defaultAction: ["boots", "hat"],
  leaveOut: [{ bought: true }, { shown: { times: 3, within: { ms: 86_400_000 } } }],
  shards: [2, 3],
  limits: [{ open: 1000 }, { open: 2000 }],
  deferral: [{ ms: 1000 }, { ms: 2000 }],
  retention: [{ ms: 86_400_000 }, { ms: 90_000_000 }],
  publish: [{ ms: 1000 }, { ms: 2000 }],
  local: [false, true],
  pageActions: [false, true],
  pageKeys: ["own", "shared"],
  pageAttributes: [["brand"], ["brand", "price"]],
  pageLimit: [10, 20],
  pageShare: [0.1, 0.2],
  featureNorm: [1, 2],
};

describe.each(names)("%s", (name) => {
  const [before, after] = VALUES[name];
  const { change } = modelOptions[name];
  const body = (value: unknown) => parsed(modelBody, { window, [name]: value });

  it(`needs for a change: ${change}`, async () => {
    const stored = await configureModel(body(before));
    const changed = reconfigureModel(body(after), stored);
    if (change === "relearning") {
      await expect(changed).resolves.toEqual({ conflict: expect.stringMatching(new RegExp(`^${name}\\b`)) });
    } else await expect(changed).resolves.toMatchObject({ [name]: after });
    const back = changed.then((config) => ("conflict" in config ? stored : reconfigureModel(body(before), config)));
    if (change === "growth") await expect(back).rejects.toThrow(`${name}: expected at least`);
    else await expect(back).resolves.toMatchObject({ [name]: before });
    await expect(relearntModel({ [name]: after }, stored)).resolves.toMatchObject({ [name]: after });
  });

  it("has a text, and a default in a new model and in older ones", async () => {
    const { [name]: value } = DEFAULTS as Partial<Record<OptionName, unknown>>;
    expect(MEANINGS[name]).toMatch(/\.$/);
    if (value === undefined) return expect(DEFAULT_TEXTS[name]).toBeDefined();
    expect(v.is(storedSchemas()[name], value)).toBe(true);
    expect(await configureModel({ window })).toMatchObject({ [name]: value });
    expect(withDefaults({ window, policy: "delay-lin-ts", options: {}, encoder: null, shadows: [] })[name]).toEqual(value);
  });

  it("is described with its default and the need of a change", () => {
    const { ModelBody, ModelPatch, Model } = document("0.0.0").components.schemas;
    for (const { properties } of [ModelBody, ModelPatch]) {
      expect(properties?.[name]).toMatchObject({ description: expect.stringMatching(/Default: .*\. (A change needs|It may)/) });
    }
    expect(Model.properties?.[name]).toMatchObject({ description: expect.stringMatching(/\.$/) });
  });
});

it("has the defaults that depend on other options as their texts state them", async () => {
  const dimensionOf = async (body: object) => (await configureModel({ window, ...body })).encoder?.dimension;
  const [whole, others] = Array.from(DEFAULT_TEXTS.encoder?.matchAll(/\d+/g) ?? [], Number);
  expect([await dimensionOf({}), await dimensionOf({ policy: "delay-lin-ucb" })]).toEqual([whole, whole]);
  expect([await dimensionOf({ policy: "otf-lin-ts" }), await dimensionOf({ local: true })]).toEqual([others, others]);
  const process = await configureModel({ window, policy: "delay-gp-ucb" });
  expect(MEANINGS.limits).toContain(`${process.limits.open.toLocaleString("en")} open impressions`);
  expect(process.serving).toBe("learner");
});

it("is in docs/api.md as `npm run options` writes it", async () => {
  const page = await readFile("docs/api.md", "utf8");
  const [head, rows] = optionTable();
  expect(withTables(page, { "model-options": table(head, rows, head.length) })).toBe(page);
});
