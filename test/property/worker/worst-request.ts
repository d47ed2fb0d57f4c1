import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { expect } from "vitest";
import { LETTERS, MOST, PAGE_BYTES, requestOf, type Shape, START, texts } from "../../../trials/attack/page-request.ts";
import { Catalogue } from "../../../worker/domain/catalogue/catalogue.ts";
import { decide } from "../../../worker/domain/decision/decision.ts";
import type { Served } from "../../../worker/domain/decision/served.ts";
import { NO_KEYS } from "../../../worker/domain/ids/join-key.ts";
import { configureModel, featurizer, startModel } from "../../../worker/domain/model/model.ts";
import { impressionsBody } from "../../../worker/edge/routes/impressions.ts";
import { Problem } from "../../../worker/protocol/problem.ts";
import { type Action, type Features, type ModelBody, recommendationsBody } from "../../../worker/protocol/schema.ts";
import { parsed } from "../../../worker/protocol/validation.ts";

// A stranger with a publishable key can make the worker read, encode and decide. This is a search for the most expensive request over the
// extremes of the schema.

/** Most products of a decision. */
const MOST_PRODUCTS = 2_000_000;

/** A request of these sizes with as many keys as there may be. */
const keyedOf = (shape: Shape, fill: string) => ({ ...requestOf(shape, fill), keys: texts(4, 256, "", fill) });

const catalogue: Action[] = Array.from({ length: 1000 }, (_, i) => ({
  id: `${i}`.padStart(36, "0"),
  features: { a: `brand-${i % 50}`, b: [`tag ${i % 7}`, `tag ${i % 11}`, `tag ${i % 13}`], title: `a title of a product ${i}` },
}));

const window = { ms: 3_600_000 };
const models: Readonly<Record<string, Partial<ModelBody>>> = {
  "all interactions": {},
  "interactions within a context": { encoder: { dimension: 64, interactions: [["c", "d"]] } },
  "interactions of a context and an action": {
    encoder: {
      dimension: 64,
      interactions: [
        ["c", "b"],
        ["d", "title"],
      ],
    },
  },
  "interactions within an action": {
    encoder: {
      dimension: 64,
      interactions: [
        ["x", "y"],
        ["a", "b"],
      ],
    },
  },
};
export const served = await Promise.all(
  Object.entries(models).map(async ([name, body]) => {
    const config = await configureModel({ window, ...body });
    const model: Served = {
      config,
      policies: await startModel(config),
      version: 1,
      featurize: featurizer(config),
      catalogue: new Catalogue(catalogue),
    };
    return [name, model] as const;
  }),
);

/** The features of terms: one for each number or category. */
function termsOf(features: Features = {}): string[] {
  return Object.entries(features).flatMap(([feature, value]) => [value].flat().map(() => feature));
}

/** Products of the interactions of all actions, counted naively. A name is hashed once, however many products it is in. */
function productsOf({ config }: Served, context: Features | undefined, actions: readonly Action[]): number {
  const left = termsOf(context);
  const pairs = config.encoder?.interactions ?? [];
  let products = 0;
  for (const { id, features } of actions) {
    const right = termsOf({ id, ...(features as object) });
    if (pairs === "all") {
      products += left.length * right.length;
      continue;
    }
    for (const [first, second] of pairs) {
      const of = (terms: readonly string[], feature: string) => terms.filter((term) => term === feature).length;
      products += (of(left, first) || of(right, first)) * (of(right, second) || of(left, second));
    }
  }
  return products;
}

interface Outcome {
  /** Steps at least. 0 if the request was refused. */
  readonly steps: number;
  readonly ms: number;
}

function cpuOf<T>(run: () => T): { readonly result: T | Problem; readonly ms: number } {
  const before = process.cpuUsage();
  let result: T | Problem;
  try {
    result = run();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    result = error;
  }
  const { user, system } = process.cpuUsage(before);
  return { result, ms: (user + system) / 1000 };
}

/** Asks for recommendations. A body over the limit is never read. */
function ask(model: Served, shape: Shape, fill: string): Outcome {
  const request = keyedOf(shape, fill);
  const text = JSON.stringify(request);
  if (Buffer.byteLength(text) > PAGE_BYTES) return { steps: 0, ms: 0 };
  const { result, ms } = cpuOf(() =>
    JSON.stringify(decide(model, parsed(recommendationsBody, JSON.parse(text)), NO_KEYS, Date.now()).actions),
  );
  if (result instanceof Problem) {
    expect(result.status).toBe(422);
    return { steps: 0, ms };
  }
  const offered = request.actions ?? catalogue;
  const products = productsOf(model, request.context, offered);
  expect(products).toBeLessThanOrEqual(MOST_PRODUCTS);
  return { steps: products, ms };
}

/** Registers as many impressions as fit. */
function register(model: Served, shape: Shape, fill: string): Outcome {
  const { context, actions: [action] = [{ id: catalogue[7].id, features: catalogue[7].features }] } = keyedOf(shape, fill);
  const item = { context, action, shownAt: 1 };
  const count = Math.min(100, Math.floor(PAGE_BYTES / (Buffer.byteLength(JSON.stringify(item)) + 1)));
  if (count === 0) return { steps: 0, ms: 0 };
  const text = JSON.stringify(Array(count).fill(item));
  const { result, ms } = cpuOf(() => {
    for (const each of parsed(impressionsBody, JSON.parse(text))) model.featurize.vector(each.context, each.action as Action);
  });
  return { steps: result instanceof Problem ? 0 : count, ms };
}

/** Changes one size by a half or a little, or takes its least or greatest value. */
function altered(shape: Shape, draw: (most: number) => number): Shape {
  const keys = Object.keys(MOST) as (keyof Shape)[];
  const key = keys[draw(keys.length - 1)];
  const least = key === "limit" || key === "names" ? 1 : 0;
  const factor = [2, 0.5, 1.2, 0.9][draw(3)];
  const value = [Math.round(shape[key] * factor), Math.round(shape[key] * factor), shape[key] + 1, least, MOST[key]][draw(4)];
  return { ...shape, [key]: Math.max(least, Math.min(MOST[key], value)) };
}

const extremes: readonly Partial<Shape>[] = [
  { names: 31, categories: 64, length: 3 },
  { names: 4, categories: 62, length: 256 },
  { names: 4, categories: 60, length: 64 },
  { names: 256, categories: 0, length: 256 },
  { actions: 1000, actionNames: 1, actionCategories: 10, actionLength: 5 },
  { actions: 60, actionNames: 1, actionCategories: 60, actionLength: 20 },
  { names: 24, categories: 0, actions: 1000, actionNames: 1, actionCategories: 10, actionLength: 5, limit: 100 },
  { actions: 40, names: 1, categories: 0, actionNames: 250, actionCategories: 0, actionLength: 0 },
  { limit: 100, excluded: 1000 },
];

/** The most expensive requests that a search of `rounds` random steps found. It follows the processor time, or the counted steps. */
export function worstRequest(model: Served, rounds: number, follow: "ms" | "steps"): { ms: number; steps: number; what: string } {
  const generator = xoroshiro128plus(16);
  const draw = (most: number) => uniformInt(generator, 0, most);
  const worst = { ms: 0, steps: 0, what: "" };
  for (const act of [ask, register]) {
    act(model, START, "x");
    const measured = (shape: Shape, fill: string) => {
      const first = act(model, shape, fill);
      // Garbage and compilation of earlier shapes count for one run at most.
      const ms = follow === "steps" || first.ms < worst.ms ? first.ms : Math.min(first.ms, act(model, shape, fill).ms);
      if (first.steps > worst.steps) worst.steps = first.steps;
      if (ms > worst.ms) Object.assign(worst, { ms, what: `${act.name} ${fill} ${JSON.stringify(shape)}` });
      return { ...first, ms };
    };
    let best = { shape: START, fill: "x", outcome: measured(START, "x") };
    const tryOut = (shape: Shape, fill: string) => {
      const outcome = measured(shape, fill);
      if (outcome[follow] >= best.outcome[follow]) best = { shape, fill, outcome };
    };
    for (const extreme of extremes) for (const fill of ["x", "漢"]) tryOut({ ...START, ...extreme }, fill);
    for (let round = 0; round < rounds; round++) tryOut(altered(best.shape, draw), LETTERS[draw(LETTERS.length - 1)]);
  }
  return worst;
}
