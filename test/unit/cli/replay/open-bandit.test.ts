import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { evaluate, uniform } from "afterclick";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { banditSource } from "../../../../cli/evaluate/bandit-source.ts";
import { inspectLog, itemFileOf, LogError, type LoggedRow, readCatalogue, readLog } from "../../../../cli/replay/open-bandit.ts";

// The columns of an Open Bandit csv, its decisions for an evaluation, and the messages for a file that is none.

const HEADER = ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1";
const FIRST = { number: "0", time: "2019-11-24 00:00:01", item: "1", position: "2", click: "1", propensity: "0.5", affinity: "0.0,0.5" };
const row = (fields: Partial<typeof FIRST> = {}): string => {
  const { number, time, item, position, click, propensity, affinity } = { ...FIRST, ...fields };
  return `${number},${time},${item},${position},${click},${propensity},young,${affinity}`;
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "open-bandit-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, ...lines: string[]): Promise<string> {
  const text = [...lines, ""].join("\n");
  await writeFile(join(folder, name), name.endsWith(".gz") ? gzipSync(text) : text);
  return join(folder, name);
}

async function rowsOf(...rows: string[]): Promise<LoggedRow[]> {
  const all: LoggedRow[] = [];
  for await (const each of readLog(await file("log.csv", HEADER, ...rows))) all.push(each);
  return all;
}

it("reads every column", async () => {
  const rows = [row(), row({ number: "1", click: "0", affinity: "1.0,-1.0", propensity: "1" })];
  const common = { item: "1", position: "2", shownAt: Date.UTC(2019, 10, 24, 0, 0, 1) };
  expect(await rowsOf(...rows)).toEqual([
    { ...common, index: 0, number: "0", clicked: true, probability: 0.5, context: { user_feature_0: "young", affinity: ["1"] } },
    { ...common, index: 1, number: "1", clicked: false, probability: 1, context: { user_feature_0: "young", affinity: ["0"] } },
  ]);
  expect(await inspectLog(await file("log.csv.gz", HEADER, ...rows))).toEqual({
    ...{ rows: 2, clicks: 1, items: ["0", "1"], userFeatures: ["user_feature_0"] },
  });
});

it.each([
  ["2019-11-24T01:00:00Z", Date.UTC(2019, 10, 24, 1)],
  ["2019-11-24 01:00:00z", Date.UTC(2019, 10, 24, 1)],
  ["2019-11-24 01:00:00+0200", Date.UTC(2019, 10, 23, 23)],
  ["2019-11-24 01:00:00-02:00", Date.UTC(2019, 10, 24, 3)],
  ["2019-11-24 01:00:00", Date.UTC(2019, 10, 24, 1)],
  ["yesterday", undefined],
  ["", undefined],
])("takes the time %j by its zone, or as UTC", async (time, shownAt) => {
  expect((await rowsOf(row({ time })))[0].shownAt).toBe(shownAt);
});

it("takes a time without a zone as UTC wherever the file is read", async () => {
  const script = `
    const { readLog } = await import(${JSON.stringify(join(process.cwd(), "cli/replay/open-bandit.ts"))});
    for await (const { shownAt } of readLog(process.argv[1])) console.log(shownAt);`;
  const log = await file("zoned.csv", HEADER, row());
  const env = { ...process.env, TZ: "Pacific/Kiritimati" };
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, log], { env });
  expect(Number(stdout)).toBe(Date.UTC(2019, 10, 24, 0, 0, 1));
});

it("has no probability where the column is empty", async () => {
  expect((await rowsOf(row({ propensity: " " })))[0]).not.toHaveProperty("probability");
  expect((await rowsOf(row({ propensity: "1e-12" })))[0].probability).toBe(1e-12);
});

it("takes the items' features from the file beside it, if there is one", async () => {
  const log = await inspectLog(await file("men-random.csv", HEADER, row()));
  expect(itemFileOf(join(folder, "men-random.csv"))).toBeUndefined();
  const bare = await readCatalogue(log, undefined);
  expect(bare.actions).toEqual(["0", "1"].map((id) => ({ id, features: {} })));
  expect(bare.encoder).not.toHaveProperty("numeric");
  const lines = ["item_id,item_feature_0,item_feature_1,name", "1,-2.5,b,hat", "0,4,a,boots", "7,99,z,unknown"];
  const items = await file("men-items.csv", ...lines);
  for (const name of ["men-random.csv", "men-random.csv.gz"]) expect(itemFileOf(join(folder, name))).toBe(items);
  expect(itemFileOf(join(folder, "men.csv"))).toBeUndefined();
  expect(await readCatalogue(log, items)).toEqual({
    actions: [
      { id: "0", features: { item_feature_0: 4, item_feature_1: "a" } },
      { id: "1", features: { item_feature_0: -2.5, item_feature_1: "b" } },
    ],
    encoder: {
      dimension: 128,
      numeric: { item_feature_0: { min: -2.5, max: 4 } },
      interactions: ["user_feature_0", "affinity"].map((name) => [name, "id"]),
    },
  });
  const cheap = await file("kids-items.csv", "item_id,item_feature_0", "1,cheap");
  await expect(readCatalogue(log, cheap)).rejects.toThrow(new LogError(`${cheap}: expected item_feature_0 to be a number, got cheap`));
  const none = await file("bare-items.csv", "item_id", "1");
  await expect(readCatalogue(log, none)).rejects.toThrow(`${none}: expected an Open Bandit csv with a column item_feature_0, got none`);
});

describe("a file is refused in one line", () => {
  it.each<[lines: string[], message: string]>([
    ...["item_id", "click", "user_feature_0", "user-item_affinity_0"].map((column) => {
      return [[HEADER.replace(column, "other"), row()], `: expected an Open Bandit csv with a column ${column}, got none`] as [
        string[],
        string,
      ];
    }),
    [[HEADER], ": expected at least one row, got none"],
    [[HEADER, "2019,1,1"], ": expected a csv: Invalid Record Length"],
    [[HEADER, row({ position: "9".repeat(1_000_001) })], ": expected a csv: Max Record Size"],
    [[HEADER, row({ item: "9" })], ", row 1: expected an affinity column for item_id 9, got none"],
    [[HEADER, row(), row({ click: "yes" })], ", row 2: expected click to be 0 or 1, got yes"],
    ...["0", "-0.5", "1.1", "1e-13", "half"].map((propensity) => {
      return [[HEADER, row({ propensity })], `, row 1: expected propensity_score from 1e-12 to 1, got ${propensity}`] as [string[], string];
    }),
  ])("%j", async (lines, message) => {
    const wrong = await file("wrong.csv", ...lines);
    const error = await inspectLog(wrong).catch((caught) => caught);
    expect(error).toBeInstanceOf(LogError);
    expect(error.message.startsWith(`${wrong}${message}`)).toBe(true);
  });

  it.each([
    ["none", (_: Buffer) => HEADER],
    ["cut short", (whole: Buffer) => whole.subarray(0, 100)],
  ])("whose gzip is %s", async (_, content) => {
    const broken = join(folder, "broken.csv.gz");
    await writeFile(broken, content(gzipSync([HEADER, ...Array.from({ length: 99 }, () => row())].join("\n"))));
    await expect(inspectLog(broken)).rejects.toThrow(`${broken}: expected a complete gzip file: `);
  });

  it("that is a folder, is missing or may not be read", async () => {
    await expect(inspectLog(folder)).rejects.toThrow(new LogError(`${folder}: expected a file, got a directory`));
    const missing = join(folder, "missing.csv");
    await expect(inspectLog(missing)).rejects.toThrow(new LogError(`${missing}: no such file; check the path`));
    const closed = await file("closed.csv", HEADER, row());
    await chmod(closed, 0);
    // The superuser may read every file.
    if (process.getuid?.() !== 0)
      await expect(inspectLog(closed)).rejects.toThrow(new LogError(`${closed}: permission denied; make the file readable`));
  });
});

describe("as decisions of an evaluation", () => {
  /** 600 rows of a second each, of which every fifth is clicked. */
  const rows = Array.from({ length: 600 }, (_, i) => {
    return row({ number: `${i}`, time: new Date(1.5e12 + 1000 * i).toISOString(), item: `${i % 2}`, click: `${Number(i % 5 === 0)}` });
  });
  const read = async (...lines: string[]) => banditSource(await file("log.csv", HEADER, ...lines), { progress() {} });

  it("evaluates a log to its end, because a click is in the row of its impression", async () => {
    const { decisions: log, window, maturity, end } = await read(...rows);
    const { decisions, immature, ips, logged } = await evaluate({ log, policy: uniform(), asOf: end, window, maturity });
    expect(decisions).toEqual({ learnt: 300, evaluated: 300, tooYoung: 0 });
    expect(immature).toEqual({ decisions: 0, conversions: 0 });
    expect([logged, ips]).toMatchObject([{ value: 0.2 }, { value: 0.2 }]);
  });

  it("counts a repeated row once, and rows without a number each", async () => {
    const twice = await read(...rows, ...rows.slice(0, 7));
    expect([twice.decisions.length, twice.repeated]).toEqual([600, 7]);
    const without = await read(...rows.map((each) => each.replace(/^\d+/, "")));
    expect([without.decisions.length, without.repeated]).toEqual([600, 0]);
  });

  it.each([
    ["the time", "2017", "2018"],
    ["the item", ",1,2,", ",0,2,"],
    ["the click", ",0,0.5,", ",1,0.5,"],
    ["the visitor", "young", "old"],
  ])("refuses two rows of one number that differ in %s", async (_, from, to) => {
    const refused = await read(...rows, rows[9].replace(from, to)).catch((error: Error) => error);
    expect(refused).toBeInstanceOf(LogError);
    expect((refused as Error).message).toMatch(
      /log\.csv, row 601: expected one row of number 9, got two that differ; number the rows anew, or remove the first column$/,
    );
  });
});
