import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evaluate, uniform } from "afterclick";
import { expect, it } from "vitest";
import { banditSource } from "../../../cli/evaluate/bandit-source.ts";

const HEADER = "timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1";
/** 600 rows of a second each, of which every fifth is clicked. */
const rows = Array.from({ length: 600 }, (_, i) => {
  return `${new Date(1.5e12 + 1000 * i).toISOString()},${i % 2},1,${Number(i % 5 === 0)},0.5,young,0.0,0.0`;
});

it("evaluates a bandit log to its end, because a click is in the row of its impression", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bandit-"));
  try {
    const file = join(folder, "log.csv");
    await writeFile(file, [HEADER, ...rows, ""].join("\n"));
    const { decisions: log, window, maturity, end } = await banditSource(file, { progress() {} });
    const { decisions, immature, ips, logged } = await evaluate({ log, policy: uniform(), asOf: end, window, maturity });
    expect(decisions).toEqual({ learnt: 300, evaluated: 300, tooYoung: 0 });
    expect(immature).toEqual({ decisions: 0, conversions: 0 });
    expect(logged).toMatchObject({ value: 0.2 });
    expect(ips).toMatchObject({ value: 0.2 });
  } finally {
    await rm(folder, { recursive: true });
  }
});
