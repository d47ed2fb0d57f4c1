import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { LearnerStore } from "../../worker/learner/store/learner-store.ts";
import { convert, createModel, describeModel, learnerOf, show, statusesOf } from "./client.ts";

// Databases of earlier and later versions of the schema.

const schemaOf = (model: string) =>
  runInDurableObject(learnerOf(model), (_, { storage: { sql } }) =>
    sql
      .exec<{ sql: string | null }>("SELECT sql FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name")
      .toArray()
      .map(({ sql }) => sql),
  );

/** When conversions of a model arrived: the quarters of an hour, and the last time. */
const arrivalsOf = (model: string) =>
  runInDurableObject(learnerOf(model), (_, { storage }) => {
    const { database } = new LearnerStore(storage);
    return [database.arrivals(), database.lastArrivalAt()];
  });

/** Runs statements in the database of a model, and evicts the learner. */
async function change(model: string, statements: string): Promise<void> {
  await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => void sql.exec(statements));
  await evictDurableObject(learnerOf(model));
}

const TO_EIGHTH = "ALTER TABLE model DROP COLUMN catalogued; ALTER TABLE model DROP COLUMN catalogued_at;";
const TO_SEVENTH = `${TO_EIGHTH} ALTER TABLE conversions DROP COLUMN restates;`;
const TO_SIXTH = `${TO_SEVENTH} CREATE TABLE slots (slot INTEGER PRIMARY KEY); INSERT INTO slots SELECT slot FROM arrivals; DROP TABLE arrivals;
  ALTER TABLE slots RENAME TO arrivals; UPDATE model SET heard = json_extract(heard, '$.""');`;
const TO_FIFTH = `${TO_SIXTH} ALTER TABLE conversions ADD COLUMN previous REAL; ALTER TABLE conversions ADD COLUMN total REAL;`;
const TO_FOURTH = `${TO_FIFTH} DROP TABLE arrivals;`;
const TO_THIRD = `${TO_FOURTH} DROP TABLE lists; DROP TABLE erased; DROP INDEX impressions_deferred; ALTER TABLE impressions DROP COLUMN list;
  ALTER TABLE impressions DROP COLUMN sampling; ALTER TABLE model DROP COLUMN sampled;`;
const TO_SECOND = `${TO_THIRD} ALTER TABLE impressions DROP COLUMN page;`;

it.each([
  ["the first version", `${TO_SECOND} ALTER TABLE model DROP COLUMN heard; DROP TABLE schema`],
  ["the second version, which did not store its number", `${TO_SECOND} DROP TABLE schema`],
  ["the second version, which stores its number", `${TO_SECOND} UPDATE schema SET version = 2`],
  ["the third version", `${TO_THIRD} UPDATE schema SET version = 3`],
  ["the fourth version", `${TO_FOURTH} UPDATE schema SET version = 4`],
  ["the fifth version", `${TO_FIFTH} UPDATE schema SET version = 5`],
  ["the sixth version", `${TO_SIXTH} UPDATE schema SET version = 6`],
  ["the seventh version", `${TO_SEVENTH} UPDATE schema SET version = 7`],
  ["the eighth version", `${TO_EIGHTH} UPDATE schema SET version = 8`],
])("a database of %s becomes one of today and loses nothing", async (_, statements) => {
  const model = await createModel();
  const [impressionId, other] = await show(model, {}, {});
  await convert({ impressionId, reward: 1 });
  const [before, schema] = [await describeModel(model), await schemaOf(model)];
  const arrivals = await arrivalsOf(model);
  await change(model, statements);
  expect(await describeModel(model)).toEqual({ ...before, bytes: expect.any(Number) });
  expect(await schemaOf(model)).toEqual(schema);
  if (/version = [5678]/.test(statements)) expect(await arrivalsOf(model)).toEqual(arrivals);
  expect(statusesOf(await convert({ impressionId: other, reward: 1 }))).toEqual(["applied"]);
});

it("a database of a later version is refused, and stays as it is", async () => {
  const model = await createModel();
  await runInDurableObject(learnerOf(model), (_, { storage }) => {
    const versions = () => storage.sql.exec<{ version: number }>("SELECT version FROM schema").toArray();
    storage.sql.exec("UPDATE schema SET version = version + 1");
    const later = versions();
    expect(() => new LearnerStore(storage)).toThrow(/has schema 10, this worker knows 9: deploy a newer worker/);
    expect(versions()).toEqual(later);
    storage.sql.exec("UPDATE schema SET version = version - 1");
  });
});
