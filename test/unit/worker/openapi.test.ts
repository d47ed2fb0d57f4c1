import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { build } from "esbuild";
import * as v from "valibot";
import { expect, it } from "vitest";
import { document } from "../../../worker/openapi/document.ts";
import { operations } from "../../../worker/openapi/operations.ts";
import { schemas } from "../../../worker/openapi/schemas.ts";
import { MEANINGS } from "../../../worker/protocol/model-options.ts";
import type { Operation } from "../../../worker/protocol/operation.ts";

const described = JSON.parse(JSON.stringify(document("0.0.0")));
const story = { now: 1_795_262_400_000, impressionId: "an-impression", publishableKey: "pk_0123456789abcdef", version: 812 };

// Reads the document as a client or a generator does, without the worker's code.
const ajv = new Ajv2020({ strict: false, formats: { "date-time": v.ISO_TIMESTAMP_REGEX } });
ajv.addSchema(described, "description");
const accepts = (name: string, value: unknown): boolean => {
  const validate = ajv.getSchema(`description#/components/schemas/${name}`);
  if (!validate) throw new Error(`there is no schema ${name}`);
  return validate(value) as boolean;
};

/** All bodies of an example, with lines as single bodies. */
function bodies({ examples, lines }: Operation): unknown[] {
  const values = Object.values(examples?.(story) ?? {});
  return lines ? values.flatMap((text) => (text as string).split("\n").map((line) => JSON.parse(line))) : values;
}

const everything = {
  policy: "otf-lin-ts",
  options: { exploration: 0.25 },
  window: { ms: 1000 },
  reward: { min: 0, max: 1 },
  serving: "edge",
  encoder: { dimension: 16 },
  seed: 7,
  goals: { purchase: { weight: 1 } },
  shadows: [{ name: "other", policy: "uniform", options: {} }],
  draws: 10,
  greedy: false,
  holdout: 0.1,
  minimumShare: 0.1,
  defaultAction: "boots",
  limits: { open: 10, bytes: 1_000_000 },
  retention: { ms: 86_400_000 },
  publish: { ms: 1000 },
  pageActions: true,
  featureNorm: 2,
};

const NOT_IN_PLACE = [
  null,
  "",
  " ",
  "x".repeat(3000),
  true,
  0,
  0.25,
  1,
  -1,
  1.5,
  1e9 - 1,
  1_795_262_400,
  1e11 - 1,
  1e11,
  1e12,
  2 ** 60,
  [],
  [[]],
  [null],
  ["x"],
  {},
  { x: null },
  "2026-11-21T12:00:00Z",
];

const isObject = (value: unknown) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Variants of a value with one change: a part replaced, a key missing, or an additional key. */
function* altered(value: unknown): Generator<unknown> {
  // Valibot accepts a list as an object whose keys are all optional. The document does not.
  yield* isObject(value) ? NOT_IN_PLACE.filter((other) => !Array.isArray(other)) : NOT_IN_PLACE;
  if (value === null || typeof value !== "object") return;
  if (Array.isArray(value)) {
    yield [...value, ...value];
    for (const [i, item] of value.entries()) for (const other of altered(item)) yield value.with(i, other);
    return;
  }
  yield { ...value, surplus: 1 };
  for (const [key, item] of Object.entries(value)) {
    const { [key as keyof typeof value]: _, ...rest } = value as Record<string, unknown>;
    yield rest;
    for (const other of altered(item)) yield { ...rest, [key]: other };
  }
}

it("takes the same bodies by its description as by the worker's own checks", () => {
  let [taken, refused] = [0, 0];
  for (const operation of Object.values(operations)) {
    const [[body, schema] = []] = Object.entries(operation.body ?? {});
    if (!body || !schema) continue;
    for (const example of [...bodies(operation), ...(body === "ModelBody" ? [everything] : [])]) {
      expect(accepts(body, example), JSON.stringify(example)).toBe(true);
      for (const value of altered(example)) {
        const { success } = v.safeParse(schema, value);
        expect([value, accepts(body, value)], body).toEqual([value, success]);
        success ? taken++ : refused++;
      }
    }
  }
  expect(taken).toBeGreaterThan(500);
  expect(refused).toBeGreaterThan(2000);
});

it("says which numbers a pinned action has", () => {
  const { score, mean, width } = described.components.schemas.Recommendations.properties.actions.items.properties;
  for (const { description } of [score, mean, width]) expect(description).toMatch(/\b0\b.*pinned action|pinned action.*\b0\b/);
});

it("gives an example of every body", () => {
  for (const [route, operation] of Object.entries(operations))
    expect([route, bodies(operation).length > 0]).toEqual([route, operation.body !== undefined]);
});

it("refers only to what it has, and has only what is referred to", () => {
  const references = new Set(JSON.stringify(described).match(/(?<="\$ref":"#\/components\/)[^"]+/g));
  const has = Object.entries<object>(described.components).flatMap(([kind, named]) => Object.keys(named).map((name) => `${kind}/${name}`));
  expect(new Set(references)).toEqual(new Set(has.filter((name) => !name.startsWith("securitySchemes/"))));
  for (const name of Object.keys(schemas)) expect(() => accepts(name, null)).not.toThrow();
});

it("gives each name to one schema", () => {
  for (const { body = {}, answers } of Object.values(operations)) {
    const named = [body, ...Object.values(answers).map(({ schema = {} }) => schema)];
    for (const [name, schema] of named.flatMap(Object.entries)) expect(schemas[name], name).toBe(schema);
  }
});

it("names each operation once, and gives each an answer and its refusals", () => {
  const paths = Object.values<Record<string, { operationId: string; responses: object }>>(described.paths);
  const all = paths.flatMap((path) => Object.values(path));
  expect(all).toHaveLength(Object.keys(operations).length);
  expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length);
  for (const { operationId, responses } of all)
    expect(Object.keys(responses), operationId).toEqual(expect.arrayContaining([expect.stringMatching(/^20/), "500"]));
});

it("refuses an answer with something unknown in it", () => {
  const name = "Activated";
  expect(accepts(name, { impressionId: "x", status: "activated" })).toBe(true);
  expect(accepts(name, { impressionId: "x", status: "activated", more: 1 })).toBe(false);
  expect(accepts(name, { impressionId: "x", status: "shown" })).toBe(false);
});

it("has no texts in the packed worker", async () => {
  const { outputFiles } = await build({
    entryPoints: ["worker/edge/app.ts"],
    bundle: true,
    format: "esm",
    write: false,
    external: ["afterclick", "hono", "hono/*", "valibot"],
  });
  const [bundle] = outputFiles.map(({ text }) => text);
  expect(bundle).toContain("/v1/models/:model/rollback");
  const texts = JSON.stringify([described.paths, described.components]).match(/(?<="(summary|description)":")[^"\\]{20,}/g) ?? [];
  expect(texts.length).toBeGreaterThan(200);
  expect(texts.filter((text) => bundle.includes(`"${text}`))).toEqual([]);
  for (const meaning of Object.values(MEANINGS)) expect(bundle).not.toContain(meaning.slice(0, 40));
});

it("is complete in docs/api.md: every route", async () => {
  const page = await readFile("docs/api.md", "utf8");
  const routes = Array.from(page.matchAll(/^\| `((?:GET|PUT|PATCH|POST|DELETE)[^`|]*)`/gm), ([, route]) => route);
  expect(new Set(routes.flatMap(expanded))).toEqual(new Set(Object.keys(operations)));
});

/** Splits `PUT, GET /v1/models/:model` into two routes. */
function expanded(route: string): string[] {
  const [path = "", ...methods] = route.split(/,? /).reverse();
  return methods.map((method) => `${method} ${path}`);
}
