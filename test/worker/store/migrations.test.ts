import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { convert, createModel, describeModel, learnerOf, show, statusesOf } from "../support/client.ts";
import { expectDelays, logOf } from "../support/fold.ts";
import { EARLIER, toEighth } from "../support/schema.ts";

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

it.each(Object.entries(EARLIER))("a database of %s becomes one of today and loses nothing", async (_, statements) => {
  const model = await createModel();
  const [impressionId, other] = await show(model, {}, {});
  await convert({ impressionId, reward: 1 });
  const [before, schema] = [await describeModel(model), await schemaOf(model)];
  const arrivals = await arrivalsOf(model);
  await runInDurableObject(learnerOf(model), (_, { storage }) => {
    toEighth(storage);
    storage.sql.exec(statements);
  });
  await evictDurableObject(learnerOf(model));
  expect(await describeModel(model)).toEqual({ ...before, bytes: expect.any(Number) });
  expect(await schemaOf(model)).toEqual(schema);
  await expectDelays(model, await logOf(model));
  if (/version = [5678]/.test(statements)) expect(await arrivalsOf(model)).toEqual(arrivals);
  expect(statusesOf(await convert({ impressionId: other, reward: 1 }))).toEqual(["applied"]);
});

it("a database of a later version is refused, and stays as it is", async () => {
  const model = await createModel();
  await runInDurableObject(learnerOf(model), (_, { storage }) => {
    const versions = () => storage.sql.exec<{ version: number }>("SELECT version FROM schema").toArray();
    storage.sql.exec("UPDATE schema SET version = version + 1");
    const later = versions();
    expect(() => new LearnerStore(storage)).toThrow(/has schema 19, this worker knows 18: deploy a newer worker/);
    expect(versions()).toEqual(later);
    storage.sql.exec("UPDATE schema SET version = version - 1");
  });
});
