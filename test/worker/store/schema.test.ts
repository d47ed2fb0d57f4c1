import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { TABLES } from "../../../worker/learner/store/schema.ts";
import { call, convert, createModel, describeModel, learnerOf, show, statusesOf } from "../support/client.ts";

it("a new model has the tables of the schema, and no others", async () => {
  const model = await createModel();
  const tables = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) =>
    sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
  );
  expect(tables.map(({ name }) => name).toSorted()).toEqual([...TABLES, "schema"].toSorted());
});

it.each([
  ["a later schema", "UPDATE schema SET version = 21", /has schema 21, this worker reads schema 20: deploy the newer worker again/],
  ["a schema before the first release", "UPDATE schema SET version = 19", /has schema 19, .* older than version 0\.1\.0: export the log/],
  ["the first schemas, which stored no number", "DROP TABLE schema", /has schema 0, .* older than version 0\.1\.0/],
])("a database of %s is refused, and stays as it is", async (_, change, message) => {
  const model = await createModel();
  const before = await describeModel(model);
  await runInDurableObject(learnerOf(model), (_, { storage }) => {
    storage.sql.exec(change);
    const all = () => storage.sql.exec("SELECT name, sql FROM sqlite_master ORDER BY name").toArray();
    const tables = all();
    expect(() => new LearnerStore(storage)).toThrow(message);
    expect(all()).toEqual(tables);
    storage.sql.exec("CREATE TABLE IF NOT EXISTS schema (version INTEGER NOT NULL); DELETE FROM schema; INSERT INTO schema VALUES (20)");
    expect(() => new LearnerStore(storage)).not.toThrow();
  });
  expect(await describeModel(model)).toEqual(before);
});

describe("a worker of an earlier version than the database", () => {
  const setSchema = async (model: string, by: number) => {
    await runInDurableObject(learnerOf(model), (_, { storage }) => void storage.sql.exec("UPDATE schema SET version = version + ?", by));
    await evictDurableObject(learnerOf(model));
  };

  it("says so in each answer of its learner, changes nothing, and lets KV take conversions, which are learnt at once afterwards", async () => {
    const model = await createModel();
    const [impressionId] = await show(model, {});
    const before = await describeModel(model);
    await setSchema(model, 1);
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/recommendations"],
      ["POST", "/reset"],
      ["GET", "/events"],
    ]) {
      const { status, body } = await call(method, `/v1/models/${model}${path}`, method === "GET" ? undefined : {});
      expect([path, status, body.detail]).toEqual([
        path,
        503,
        expect.stringMatching(/has schema 21, this worker reads schema 20: deploy the newer/),
      ]);
    }
    const sent = { impressionId, reward: 1 };
    expect(statusesOf(await convert(sent))).toEqual(["accepted"]);
    expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
    await setSchema(model, -1);
    expect((await describeModel(model)).counts).toEqual(before.counts);
    // The start has set the alarm.
    expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
    expect((await describeModel(model)).counts).toMatchObject({ converted: 1 });
    await evictDurableObject(learnerOf(model));
    expect((await describeModel(model)).counts).toMatchObject({ converted: 1, duplicate: 0 });
  });
});
