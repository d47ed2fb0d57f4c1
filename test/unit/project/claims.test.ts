import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { zeroTable, zeroWins } from "../../../experiments/beyond/zero.ts";
import {
  type Compared,
  classesTable,
  comparedOf,
  emailsTable,
  leastLift,
  policiesTable,
  ratesTable,
  rounded,
  rowsToTell,
  toldTable,
} from "../../../experiments/logs/tables.ts";
import { all } from "../../../experiments/papers.ts";
import { intervalOf, type Result, ratioName } from "../../../experiments/runs/results.ts";
import { DEFAULT } from "../../../experiments/shop/algorithms.ts";
import {
  shopComparisons,
  shopMoney,
  shopOracle,
  shopRatios,
  shopTable,
  shopTraffic,
  shopVerdicts,
} from "../../../experiments/shop/tables.ts";
import { signalsComparisons, signalsTable, signalsWins } from "../../../experiments/signals/tables.ts";
import { comparisons, drawingOf, find, withNumbers } from "../../../experiments/summary/choosing.ts";
import { claimsTable } from "../../../experiments/summary/claims.ts";
import { DECISION, numbersTable } from "../../../experiments/summary/front.ts";
import { goalsTable, rhythmTable } from "../../../experiments/summary/goals.ts";
import { worthComparisons, worthTable } from "../../../experiments/worth/tables.ts";
import { conversionsAfter, INFORMED, labelOf, rivals } from "../../../experiments/worth.ts";

const results: Result[] = JSON.parse(await readFile("experiments/results.json", "utf8"));

const tables = {
  claimsTable,
  goalsTable,
  zeroTable,
  rhythmTable,
  shopTable,
  shopRatios,
  shopOracle,
  shopTraffic,
  shopMoney,
  signalsTable,
};
const ofLogs = { ratesTable, policiesTable, toldTable, emailsTable, classesTable };
const guide = await readFile("docs/choosing.md", "utf8");

it.each([...Object.values(tables), shopVerdicts, zeroWins, signalsWins])(
  "the table %o of docs/research.md is that of experiments/results.json",
  async (table) => {
    expect(await readFile("docs/research.md", "utf8")).toContain(table(results));
  },
);

it.each(Object.values(ofLogs))("the table %o of docs/real-logs.md is that of experiments/results.json", async (table) => {
  expect(await readFile("docs/real-logs.md", "utf8")).toContain(table(results));
});

const COMMAND = /^`npm run reproduce -- --paper (\S+) --experiment (\S+)(?: --setting "([^"]+)")? --runs (\d+)( --data DIR)?`$/;
const ofGuide = Object.keys(comparisons).map((name) => {
  const [, table] = guide.match(new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)<!-- /${name} -->`)) as RegExpMatchArray;
  return [name, table.trim()] as const;
});
const ofTables = Object.entries({ ...tables, ...ofLogs }).map(([name, table]) => [name, table(results)] as const);

/** The cells of a Markdown table, row by row. */
const cellsOf = (table: string): string[][] =>
  table.split("\n").map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );

it.each([...ofTables, ...ofGuide])("each row of the table %s has its number of runs, and a command that plays them", (_, table) => {
  const [head, , ...rows] = cellsOf(table);
  const [runs, command] = ["runs", "command"].map((name) => head.indexOf(name));
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) {
    expect(row.length).toBe(head.length);
    expect(row[runs]).toMatch(/^\d+(; \d+ of .+)*$/);
    for (const each of row[command].split(", `").map((text, i) => (i > 0 ? `\`${text}` : text))) {
      const found = each.match(COMMAND);
      expect(found, `${row[0]}: ${each}`).not.toBeNull();
      const [, paper, id, setting, count, data] = found as RegExpMatchArray;
      const experiment = all.find((known) => known.id === paper)?.experiments.find((known) => known.id === id);
      expect(experiment, each).toBeDefined();
      expect(data !== undefined).toBe(experiment?.dataFiles !== undefined);
      const own = results.filter(
        (result) => result.paper === paper && result.experiment === id && (!setting || result.setting === setting),
      );
      expect(own.map((result) => result.runs)).toContain(Number(count));
      for (const { setting, algorithm } of own) {
        expect(experiment?.settings).toContain(setting);
        expect(experiment?.algorithms).toContain(algorithm);
      }
    }
  }
});

it("each claim of this project has its command, and says how much that tries", async () => {
  const [, table] = (await readFile("docs/research.md", "utf8")).match(
    /^(\| claim \| command \| it tries \|\n(?:\|.*\n)+)/m,
  ) as RegExpMatchArray;
  const [, , ...rows] = cellsOf(table.trim());
  expect(rows.length).toBeGreaterThan(5);
  for (const [claim, command, tries] of rows) {
    expect(claim).not.toBe("");
    expect(command, claim).toMatch(/^`(npm run|npx vitest run) .+`$/);
    expect(tries, claim).not.toBe("");
  }
});

it("the numbers of the README are those of the results", async () => {
  const bench: { workload: string; variants: { median: number }[] }[] = JSON.parse(await readFile("bench/results.json", "utf8"));
  const [decision] = bench.flatMap(({ workload, variants }) => (workload === DECISION ? variants[0].median : []));
  expect(await readFile("README.md", "utf8")).toContain(numbersTable(results, decision));
});

it("the guide's tables are those of experiments/results.json", () => {
  expect(withNumbers(guide, results)).toBe(guide);
});

it.each(Object.entries({ ...comparisons, ...shopComparisons(results), ...signalsComparisons(results), ...worthComparisons(results) }))(
  "the figure %s is that of experiments/results.json",
  async (name, comparison) => {
    expect(await readFile(`docs/figures/${name}.svg`, "utf8")).toBe(await drawingOf(comparison, results));
  },
);

it("what the documents say in words is what their numbers say", async () => {
  /** The algorithm's means, over the settings of a comparison. */
  const means = (name: string, algorithm: string): number[] => {
    const comparison = comparisons[name];
    return Object.keys(comparison.settings).map((setting) => find(comparison, setting, algorithm, results).mean);
  };
  /** Expects the algorithms to have less than all others in these settings of a comparison. */
  const least = (name: string, algorithms: readonly string[], settings: number[]) => {
    for (const other of Object.keys(comparisons[name].algorithms).filter((each) => !algorithms.includes(each))) {
      for (const algorithm of algorithms) {
        for (const i of settings) expect(means(name, algorithm)[i], `${name}: ${algorithm}, ${other}`).toBeLessThan(means(name, other)[i]);
      }
    }
  };
  least("linear", ["delay-lin-ts", "delay-lin-ucb"], [0, 1, 2]);
  least("heavy-tail", ["delay-lin-ts", "delay-lin-ucb"], [0]);
  least("kernel", ["delay-aware GP-UCB"], [0, 1, 2]);
  least("best", ["GP-UCB-SDF"], [0, 1]);
  for (const i of [0, 1, 2]) expect(means("linear", "OTFLinUCB printed")[i]).toBeGreaterThan(means("linear", "uniform")[i]);
  const blind = Object.keys(comparisons.linear.settings).map((setting) =>
    results.find(
      (each) => each.paper === "beyond" && each.setting === setting && each.algorithm === "delay-lin-ts, pending as zero, forgetting null",
    ),
  );
  expect(guide).toContain(`has a regret of ${blind.map((each) => each?.mean.toFixed(0)).join(" / ")}.`);
  const less = results.filter(
    ({ paper, experiment, algorithm, metric }) =>
      paper === "beyond" && experiment === "vernade" && algorithm.endsWith("exploration 0.11") && metric === "cumulative regret",
  );
  expect(guide.replaceAll("\n", " ")).toContain(`exploration too, it has ${less.map(({ mean }) => mean.toFixed(0)).join(" / ")}:`);
  const stuck = results.filter(({ paper, experiment, metric, algorithm }) =>
    [paper, experiment, metric, algorithm].every((each, i) => each === ["shop", "long", "stuck", "default"][i]),
  );
  expect(stuck.length).toBeGreaterThan(0);
  for (const { mean, runs, at } of stuck) {
    expect(guide.replaceAll("\n", " ")).toContain(`${Math.round(mean * runs)} of ${runs} runs after ${at.toLocaleString("en")} visitors`);
  }
  const over = (experiment: string, setting: string): number =>
    results.find(
      (each) =>
        each.paper === "shop" &&
        each.experiment === experiment &&
        each.setting === setting &&
        each.metric === "cumulative regret over that of default, pending as zero, forgetting null",
    )?.mean as number;
  const research = (await readFile("docs/research.md", "utf8")).replaceAll("\n", " ");
  expect(research).toContain("nothing that could be told in classification");
  for (const share of [5, 25]) {
    expect(Math.abs(over("classification", `encoder, mean ${share} % of the horizon`) - 1)).toBeLessThan(0.01);
  }
  const gain = Math.round(100 * (1 - over("catalogue", "4 days, log-normal, window 14 days, daily batches")));
  expect(research).toContain(`catalogues it gains ${gain} % at four days`);
  expect(research).toContain("In shops drawn at random it gains a fifth");
  for (const window of ["10 to 30", "1 to 5"])
    expect(Math.abs(over("random", `window ${window} % of the horizon`) - 0.8)).toBeLessThan(0.05);
  expect(research).toContain("knowing delays gains a quarter with ten products");
  expect(Math.abs(over("products", "one-hot, 2 days, window 6 days") - 0.75)).toBeLessThan(0.05);
  const besideOracle = results.filter(({ metric }) => metric === "cumulative regret over that of default, delays known");
  expect(research).toContain("Beside the oracle, which knows them from the start, no world is lost, and where the mean delay is a quarter");
  expect(besideOracle.length).toBeGreaterThan(5);
  expect(besideOracle.filter((each) => intervalOf(each).low > 1)).toEqual([]);
  for (const each of besideOracle.filter(({ setting }) => setting.includes("25 %"))) expect(intervalOf(each).high).toBeLessThan(1);
  const [five, ten, twenty, forty] = means("window", "GP-UCB-SDF");
  expect(Math.max(twenty, forty)).toBeLessThan(Math.min(five, ten));
});

it("what docs/worth.md says in words is what its numbers say", async () => {
  const page = (await readFile("docs/worth.md", "utf8")).replace(/\s+/g, " ");
  expect(page).toContain(worthTable(results).replace(/\s+/g, " "));
  const gain = (cell: string, days: number, algorithm: string, rival: string): number => {
    const metric = ratioName(conversionsAfter(days), rival);
    const isMeant = (each: Result) => each.paper === "worth" && each.algorithm === algorithm && each.metric === metric;
    return 100 * ((results.find((each) => isMeant(each) && labelOf(each.setting) === cell) as Result).mean - 1);
  };
  const [perView, slot, shop, any] = rivals;
  const informed = (cell: string, days: number) => gain(cell, days, INFORMED, shop);
  expect(page).toContain(
    `has brought ${informed("100 visits a day", 30).toFixed(0)} % more at 100 visits a day, and ${informed("1,000 visits a day", 30).toFixed(0)} % more at 1,000`,
  );
  const cells = ["100 visits a day", "300 visits a day", "1,000 visits a day", "3,000 visits a day", "10,000 visits a day"];
  const shops = ["8 products", "0.5 %", "5 %", "ten minutes", "a week", "no taste"];
  for (const cell of [...cells, ...shops]) expect(informed(cell, 7)).toBeGreaterThan(-1);
  expect(informed("1,000 products", 7)).toBeLessThan(-1);
  const own = (cell: string, days: number, rival: string) => gain(cell, days, DEFAULT, rival);
  expect(own("100 visits a day", 30, any)).toBeGreaterThan(100);
  expect(own("1,000 visits a day", 30, any)).toBeGreaterThan(170);
  for (const cell of cells.slice(1, 4)) expect(own(cell, 30, perView)).toBeGreaterThan(10);
  expect(own("100 visits a day", 30, perView)).toBeLessThan(0);
  expect(own("100 visits a day", 90, perView)).toBeGreaterThan(10);
  for (const cell of cells.slice(0, 4)) expect(own(cell, 30, slot)).toBeGreaterThan(50);
  expect(page).toContain(`loses the first week: ${(-own("1,000 visits a day", 7, shop)).toFixed(0)} % after seven days`);
  expect(page).toContain(`still ${(-own("no taste", 90, shop)).toFixed(0)} % behind after 90 days`);
});

it("what docs/real-logs.md says in words is what its numbers say", async () => {
  const page = (await readFile("docs/real-logs.md", "utf8")).replace(/\s+/g, " ");
  const compared = comparedOf(results);
  const [test, one] = ["two policies in an A/B test", "a policy that shows one item"].map((start) =>
    compared.find(({ label }) => label.startsWith(start)),
  ) as [Compared, Compared];
  expect(page).toContain(`takes ${rounded(rowsToTell(test, 0.1))} rows of an A/B test`);
  expect(page).toContain(`about ${(rowsToTell(one, 0.1) / 1e6).toFixed(1)} million rows`);
  expect(page).toContain(`tells a lift of ${rounded(100 * leastLift(test, 20_000))} % or more`);
  expect(page).toContain(`need ${rounded(one.variance / test.variance)} times fewer rows`);
  expect(page).toContain(`rows = ${rowsToTell({ ...test, variance: 1, rate: 1 }, 0.1).toFixed(0)} c / rate`);
  const clicks = 10_000 * test.rate;
  expect(page).toContain(`It has ${clicks} clicks`);
  const ends = [-1, 1].map((side) => Math.exp(side * 1.96 * Math.sqrt(2 / clicks)));
  expect(page).toContain(`about ${ends.map((end) => end.toPrecision(2)).join(" to ")}.`);
  // Every policy but the log's own is too few, by every estimator.
  const stated = results.filter(({ paper, metric }) => paper === "logs" && metric === "IPS");
  const later = Math.round(stated[0].at * stated[0].mean);
  expect(page).toContain(`${later} rows were clicked, and ${clicks - later} in the first half`);
  expect(stated.map(({ setting, algorithm }) => [setting, algorithm])).toEqual([
    ["random log", "uniform"],
    ["BTS log", "BTS"],
  ]);
});
