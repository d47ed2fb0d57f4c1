import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { createModel, learnerOf } from "../support/client.ts";

it.each([
  ["the names of old impressions", "SELECT count(*) FROM names WHERE id < 'i'", "names_id"],
  ["the conversions of a message", "SELECT impression FROM conversions WHERE key = 'k'", "conversions_key"],
])("finds %s without going through all", async (_, query, index) => {
  const model = await createModel();
  const plan = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => sql.exec(`EXPLAIN QUERY PLAN ${query}`).toArray());
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining(`INDEX ${index} `)]);
});
