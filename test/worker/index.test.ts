import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { createModel, learnerOf } from "./client.ts";

it.each([
  ["an impression by its name", "SELECT * FROM impressions WHERE name = 'n'", "impressions_name"],
  ["the conversions of a message", "SELECT impression FROM conversions WHERE key = 'k'", "conversions_key"],
])("finds %s without going through all", async (_, query, index) => {
  const model = await createModel();
  const plan = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => sql.exec(`EXPLAIN QUERY PLAN ${query}`).toArray());
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining(`USING INDEX ${index} `)]);
});
