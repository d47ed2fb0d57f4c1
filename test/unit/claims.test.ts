import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { claimsTable } from "../../experiments/claims.ts";

it("the README's table of claims is that of experiments/results.json", async () => {
  const results = JSON.parse(await readFile("experiments/results.json", "utf8"));
  expect(await readFile("README.md", "utf8")).toContain(claimsTable(results));
});
