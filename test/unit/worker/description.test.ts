import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import { document } from "../../../worker/openapi/document.ts";
import { routes } from "../../support/routes.ts";

// Only what a client sees of the description: nothing here comes from the operations that it was made of.
const description = JSON.parse(JSON.stringify(document("1.2.3")));
const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
ajv.addSchema(description, "description");

// biome-ignore lint/suspicious/noExplicitAny: a description is JSON, and each test states the part that it reads.
type Json = any;

/** The part to which a reference leads, or the value itself. */
function followed(value: Json): Json {
  if (value.$ref === undefined) return value;
  return value.$ref
    .slice(2)
    .split("/")
    .reduce((part: Json, name: string) => part[name], description);
}

const operationOf = (route: string): Json => {
  const [method, path] = route.split(" ");
  return description.paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
};

const nameOf = (schema: Json): string => schema.$ref.split("/").at(-1);

/** The promised body of an answer: its schema or, without one, its media type, if it has a body. */
function contentOf({ content }: Json): string | null {
  if (!content) return null;
  const [[media, { schema }]] = Object.entries<Json>(content);
  return media === "application/json" && schema ? nameOf(schema) : media;
}

/** Example bodies by name. Lines of JSON become a list. */
function examplesOf(route: string): Record<string, Json> {
  const [[media, { examples }]] = Object.entries<Json>(operationOf(route).requestBody.content);
  const read = (value: Json) => (media === "application/x-ndjson" ? value.split("\n").map((line: string) => JSON.parse(line)) : value);
  return Object.fromEntries(Object.entries<Json>(examples).map(([name, { value }]) => [name, read(value)]));
}

const table = Object.entries(routes);
const withBody = table.flatMap(([route, { body, examples }]) => (body && examples ? [[route, body, examples] as const] : []));

it("has the routes of the table and no others", () => {
  const found = Object.entries<Json>(description.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
  );
  expect(found.toSorted()).toEqual(Object.keys(routes).toSorted());
});

it.each(table)("%s has its name and a summary", (route, { id }) => {
  expect(operationOf(route)).toMatchObject({ operationId: id, summary: expect.stringMatching(/^\w.{4,}/) });
});

it.each(table)("%s takes its keys, and each is described", (route, { key }) => {
  const { security } = operationOf(route);
  expect(security.flatMap(Object.keys)).toEqual(key);
  for (const name of key) expect(description.components.securitySchemes[name].description).toMatch(/\w+/);
});

it.each(table)("%s answers in its forms", (route, { answers }) => {
  const replies = Object.entries<Json>(operationOf(route).responses).filter(([status]) => Number(status) < 400);
  expect(Object.fromEntries(replies.map(([status, reply]) => [status, contentOf(reply)]))).toEqual(answers);
  for (const [, { description: text }] of replies) expect(text).toMatch(/\w+/);
});

it.each(table)("%s refuses with its problems, and says when to come back", (route, { problems }) => {
  const refusals = Object.entries<Json>(operationOf(route).responses).filter(([status]) => Number(status) >= 400);
  expect(refusals.map(([status]) => Number(status)).toSorted((a, b) => a - b)).toEqual(problems);
  for (const [status, reference] of refusals) {
    const { description: text, content, headers } = followed(reference);
    expect(text).toMatch(/\w+/);
    expect(nameOf(content["application/problem+json"].schema)).toBe("Problem");
    expect(Object.keys(headers ?? {})).toEqual(status === "429" || status === "503" ? ["Retry-After"] : []);
  }
});

it.each(table)("%s has its parameters, all with a schema", (route, { parameters }) => {
  const [path, query] = [Array.from(route.matchAll(/:(\w+)/g), ([, name]) => name), ["after", "goal", "model", "key", "action"]];
  const described: Json[] = (operationOf(route).parameters ?? []).map(followed);
  expect(described.map(({ name }) => name)).toEqual([...path, ...(parameters ?? [])]);
  for (const { name, in: place, required = false, schema } of described) {
    const expected = path.includes(name) ? "path" : query.includes(name) ? "query" : "header";
    expect([name, place, required, schema.type]).toEqual([name, expected, expected !== "query", "string"]);
  }
});

it.each(table)("%s requires a body of its schema, or takes none", (route, { body }) => {
  const { requestBody } = operationOf(route);
  const [media] = Object.values<Json>(requestBody?.content ?? {});
  expect(media && nameOf(media.schema.contentSchema ?? media.schema)).toBe(body);
  expect(requestBody?.required).toBe(body && true);
});

it.each(withBody)("%s shows its examples with all their parts", (route, _, examples) => {
  const shown = Object.entries(examplesOf(route));
  expect(Object.fromEntries(shown.map(([name, value]) => [name, Object.keys(value)]))).toEqual(examples);
  // An empty part shows nothing; two examples say that an empty body is enough.
  for (const [name, value] of shown) {
    if (examples[name].length > 0) expect(JSON.stringify(value), name).not.toMatch(/\{\}|\[\]|""|null/);
  }
});

it.each(withBody)("%s accepts its examples", (route, body) => {
  const validate = ajv.getSchema(`description#/components/schemas/${body}`);
  for (const [name, value] of Object.entries(examplesOf(route))) {
    const bodies = body === "PastLine" ? value : [value];
    for (const one of bodies) expect([name, validate?.(one), validate?.errors]).toEqual([name, true, null]);
  }
});

it("says what it is, in which version, and where", () => {
  const { openapi, info, servers } = description;
  expect({ openapi, servers }).toEqual({ openapi: "3.1.0", servers: [{ url: "/" }] });
  expect(info).toMatchObject({
    title: "afterclick",
    version: "1.2.3",
    license: { identifier: "MIT" },
    summary: expect.stringMatching(/\w/),
  });
});

it("describes every option of a model", () => {
  const { properties } = description.components.schemas.ModelBody;
  expect(Object.keys(properties).toSorted()).toEqual(
    [
      ...[
        "defaultAction",
        "deferral",
        "draws",
        "encoder",
        "examination",
        "prior",
        "featureNorm",
        "goals",
        "greedy",
        "holdout",
        "leaveOut",
        "limits",
        "local",
        "minimumShare",
        "options",
      ],
      ...[
        "pageActions",
        "pageKeys",
        "pageAttributes",
        "pageLimit",
        "pageShare",
        "policy",
        "publish",
        "retention",
        "reward",
        "seed",
        "serving",
        "shards",
        "shadows",
        "window",
      ],
    ].toSorted(),
  );
  for (const [name, { description: text }] of Object.entries<Json>(properties)) expect(text, name).toMatch(/\w.{10,}/);
});
