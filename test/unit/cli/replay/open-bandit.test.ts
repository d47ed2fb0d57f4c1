import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inspectLog, itemFileOf, LogError, type LoggedRow, readCatalogue, readLog } from "../../../../cli/replay/open-bandit.ts";

// The columns of an Open Bandit csv, and the messages for a file that is none.

const HEADER = ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1";
const row = (fields: Partial<Record<"number" | "time" | "item" | "position" | "click" | "propensity" | "affinity", string>> = {}) => {
  const {
    number = "0",
    time = "2019-11-24 00:00:01",
    item = "1",
    position = "2",
    click = "1",
    propensity = "0.5",
    affinity = "0.0,0.5",
  } = fields;
  return `${number},${time},${item},${position},${click},${propensity},young,${affinity}`;
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "open-bandit-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, ...lines: string[]): Promise<string> {
  await writeFile(join(folder, name), [...lines, ""].join("\n"));
  return join(folder, name);
}

async function rowsOf(...rows: string[]): Promise<LoggedRow[]> {
  const all: LoggedRow[] = [];
  for await (const each of readLog(await file("log.csv", HEADER, ...rows))) all.push(each);
  return all;
}

it("reads every column", async () => {
  expect(await rowsOf(row(), row({ number: "1", click: "0", affinity: "1.0,-1.0", propensity: "1" }))).toEqual([
    {
      ...{ index: 0, number: "0", item: "1", clicked: true, position: "2", probability: 0.5, shownAt: Date.UTC(2019, 10, 24, 0, 0, 1) },
      context: { user_feature_0: "young", affinity: ["1"] },
    },
    {
      ...{ index: 1, number: "1", item: "1", clicked: false, position: "2", probability: 1, shownAt: Date.UTC(2019, 10, 24, 0, 0, 1) },
      context: { user_feature_0: "young", affinity: ["0"] },
    },
  ]);
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

it("has no probability where the column is empty", async () => {
  expect((await rowsOf(row({ propensity: " " })))[0]).not.toHaveProperty("probability");
  expect((await rowsOf(row({ propensity: "1e-12" })))[0].probability).toBe(1e-12);
});

it("counts rows and clicks, and names items and features", async () => {
  expect(await inspectLog(await file("counted.csv", HEADER, row(), row({ click: "0" }), row()))).toEqual({
    ...{ rows: 3, clicks: 2, items: ["0", "1"], userFeatures: ["user_feature_0"] },
  });
});

describe("the items", () => {
  it("have the features of their file, and an encoder for these and the visitor's", async () => {
    const log = await inspectLog(await file("men-random.csv", HEADER, row()));
    expect(itemFileOf(join(folder, "men-random.csv"))).toBeUndefined();
    const items = await file(
      "men-items.csv",
      "item_id,item_feature_0,item_feature_1,name",
      "1,-2.5,b,hat",
      "0,4,a,boots",
      "7,99,z,unknown",
    );
    for (const name of ["men-random.csv", "men-random.csv.gz", "men-a-b.csv"].slice(0, 2))
      expect(itemFileOf(join(folder, name))).toBe(items);
    expect(itemFileOf(join(folder, "men.csv"))).toBeUndefined();
    expect(await readCatalogue(log, items)).toEqual({
      actions: [
        { id: "0", features: { item_feature_0: 4, item_feature_1: "a" } },
        { id: "1", features: { item_feature_0: -2.5, item_feature_1: "b" } },
      ],
      encoder: {
        dimension: 128,
        numeric: { item_feature_0: { min: -2.5, max: 4 } },
        interactions: [
          ["user_feature_0", "id"],
          ["affinity", "id"],
        ],
      },
    });
    expect((await readCatalogue(log, undefined)).encoder).not.toHaveProperty("numeric");
  });

  it("need a number as their first feature", async () => {
    const log = await inspectLog(await file("kids-random.csv", HEADER, row()));
    const items = await file("kids-items.csv", "item_id,item_feature_0", "1,cheap");
    await expect(readCatalogue(log, items)).rejects.toThrow(new LogError(`${items}: expected item_feature_0 to be a number, got cheap`));
    const bare = await file("bare-items.csv", "item_id", "1");
    await expect(readCatalogue(log, bare)).rejects.toThrow(`${bare}: expected an Open Bandit csv with a column item_feature_0, got none`);
  });
});

describe("a file is refused in one line", () => {
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

  it.each(["item_id", "click", "user_feature_0", "user-item_affinity_0"])("without the column %s", async (column) => {
    const lacking = await file("lacking.csv", HEADER.replace(column, "other"), row());
    await expect(inspectLog(lacking)).rejects.toThrow(
      new LogError(`${lacking}: expected an Open Bandit csv with a column ${column}, got none`),
    );
  });

  it("with a second row that is malformed, by its number", async () => {
    const broken = await file("broken.csv", HEADER, row(), row({ click: "2" }));
    await expect(inspectLog(broken)).rejects.toThrow(new LogError(`${broken}, row 2: expected click to be 0 or 1, got 2`));
  });

  it("whose row is longer than a million characters", async () => {
    const long = await file("long.csv", HEADER, row({ position: "9".repeat(1_000_001) }));
    await expect(inspectLog(long)).rejects.toThrow(/^\S+long\.csv: expected a csv: Max Record Size/);
  });
});
