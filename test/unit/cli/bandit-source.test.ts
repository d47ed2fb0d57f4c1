import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evaluate, uniform } from "afterclick";
import { expect, it } from "vitest";
import { banditSource } from "../../../cli/evaluate/bandit-source.ts";
import { LogError } from "../../../cli/replay/open-bandit.ts";

const HEADER = "timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1";
/** 600 rows of a second each, of which every fifth is clicked. */
const rows = Array.from({ length: 600 }, (_, i) => {
  return `${new Date(1.5e12 + 1000 * i).toISOString()},${i % 2},1,${Number(i % 5 === 0)},0.5,young,0.0,0.0`;
});

/** Reads a log of these lines. */
async function read(lines: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "bandit-"));
  try {
    const file = join(folder, "log.csv");
    await writeFile(file, [...lines, ""].join("\n"));
    return await banditSource(file, { progress() {} });
  } finally {
    await rm(folder, { recursive: true });
  }
}

it("evaluates a bandit log to its end, because a click is in the row of its impression", async () => {
  const { decisions: log, window, maturity, end } = await read([HEADER, ...rows]);
  const { decisions, immature, ips, logged } = await evaluate({ log, policy: uniform(), asOf: end, window, maturity });
  expect(decisions).toEqual({ learnt: 300, evaluated: 300, tooYoung: 0 });
  expect(immature).toEqual({ decisions: 0, conversions: 0 });
  expect(logged).toMatchObject({ value: 0.2 });
  expect(ips).toMatchObject({ value: 0.2 });
});

it.each(["0", "-0.5", "1.1", "1e-13", "half"])("refuses the propensity %s, and names its row", async (propensity) => {
  const wrong = rows.with(9, rows[9].replace(",0.5,", `,${propensity},`));
  await expect(read([HEADER, ...wrong])).rejects.toThrow(
    new RegExp(`row 10: expected propensity_score from 1e-12 to 1, got ${propensity}$`),
  );
});

it("counts a repeated row once, and rows without a number each", async () => {
  const numbered = rows.map((row, i) => `${i},${row}`);
  const twice = await read([`,${HEADER}`, ...numbered, ...numbered.slice(0, 7)]);
  expect([twice.decisions.length, twice.repeated]).toEqual([600, 7]);
  const without = await read([`,${HEADER}`, ...rows.map((row) => `,${row}`)]);
  expect([without.decisions.length, without.repeated]).toEqual([600, 0]);
});

it.each([
  ["the time", rows[9].replace("2017", "2018")],
  ["the item", rows[9].replace(",1,1,", ",0,1,")],
  ["the click", rows[9].replace(",0,0.5,", ",1,0.5,")],
  ["the visitor", rows[9].replace("young", "old")],
])("refuses two rows of one number that differ in %s", async (_, other) => {
  expect(other).not.toBe(rows[9]);
  const refused = await read([`,${HEADER}`, ...rows.map((row, i) => `${i},${row}`), `9,${other}`]).catch((error: Error) => error);
  expect(refused).toBeInstanceOf(LogError);
  expect((refused as Error).message).toMatch(
    /log\.csv, row 601: expected one row of number 9, got two that differ; number the rows anew, or remove the first column$/,
  );
});
