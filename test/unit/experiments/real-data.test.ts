import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { classShop, dataSets, readClasses } from "../../../experiments/logs/classes.ts";
import { type Customer, emailShop, readEmails } from "../../../experiments/logs/emails.ts";
import { classAlgorithms, emailAlgorithms } from "../../../experiments/logs/log-rivals.ts";
import { paper } from "../../../experiments/logs.ts";
import { playBy } from "../../../experiments/shop/algorithms.ts";
import { rewardCurve } from "../../../experiments/shop/play.ts";
import { stream } from "../../../src/simulation/stream.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "real-data-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, lines: readonly string[]): Promise<string> {
  const text = [...lines, ""].join("\n");
  await writeFile(join(folder, name), name.endsWith(".gz") ? gzipSync(text) : text);
  return join(folder, name);
}

const HEADER = "recency,history_segment,history,mens,womens,zip_code,newbie,channel,segment,visit,conversion,spend";
const ROW = '5,"$750 - $1,000",828.42,1,0,Rural,1,Web,Mens E-Mail,1,0,0.0';

describe("a log of e-mails", () => {
  it("is read by the names of its columns, with quoted fields, packed or not", async () => {
    const path = await file("emails.csv.gz", [`\uFEFF${HEADER}`, ROW, "1,$0 - $100,29.99,0,1,Urban,0,Phone,No E-Mail,0,0,0.0"]);
    const read = await readEmails(path);
    expect(read[0]).toEqual({
      context: { recency: 5, history: 828.42, mens: "1", womens: "0", zip_code: "Rural", newbie: "1", channel: "Web" },
      email: 1,
      outcomes: { visit: true, conversion: false },
    });
    expect(read[1]).toMatchObject({ email: 0, outcomes: { visit: false, conversion: false } });
  });

  it.each<[string, string[], RegExp]>([
    ["without a column", [HEADER.replace("visit", "seen"), ROW], /expected a column visit in the first line, got none/],
    ["with a short row", [HEADER, ROW, "5,1,2"], /row 2: expected 12 fields, got 3/],
    ["with another e-mail", [HEADER, ROW.replace("Mens E", "Kids E")], /expected segment to be one of .*, got "Kids E-Mail"/],
    ["with a decimal comma", [HEADER, ROW.replace("828.42", '"828,42"')], /expected history to be a number, got "828,42"/],
    ["with a count of visits", [HEADER, ROW.replace("Mail,1", "Mail,2")], /expected visit to be 0 or 1, got "2"/],
    ["without rows", [HEADER], /expected rows, got none/],
  ])("is refused %s", async (_, lines, message) => {
    const error = await readEmails(await file("emails.csv", lines)).catch((each) => each);
    expect([error.name, error.message]).toEqual(["LogError", expect.stringMatching(message)]);
  });

  /** Customers who visit after one of the e-mails with this chance, and after another one rarely. */
  function customers(count: number, rates: readonly number[]): Customer[] {
    const random = stream("customers");
    return Array.from({ length: count }, () => {
      const email = random.below(3);
      const visits = random() < rates[email];
      return {
        context: { recency: random.below(12), history: random(), mens: "1" },
        email,
        outcomes: { visit: visits, conversion: false },
      };
    });
  }

  it("is replayed without bias: a rule that shows all e-mails alike earns the mean of the log", async () => {
    const log = customers(9000, [0.1, 0.2, 0.6]);
    const { choices, expected } = await playBy(emailAlgorithms.uniform, emailShop(log, "visit", 2400, ["test"]), "uniform", 0);
    expect(new Set(choices)).toEqual(new Set([0, 1, 2]));
    const { values } = rewardCurve("reward", { choices, expected, regret: expected });
    expect(Math.abs(values[values.length - 1] - 0.3)).toBeLessThan(0.03);
  });

  it("counts a customer only if the chosen e-mail is that of the log, and lets rules learn the best one", async () => {
    const log = customers(6000, [0.1, 0.2, 0.6]);
    for (const name of ["Beta, delay law", "greedy, waiting", "default, without context"]) {
      const { choices, expected } = await playBy(emailAlgorithms[name], emailShop(log, "visit", 1500, ["test"]), name, 0);
      const last = expected.subarray(1000);
      expect(last.reduce((sum, each) => sum + each, 0) / last.length, name).toBeGreaterThan(0.45);
      expect(choices.subarray(1000).filter((each) => each === 2).length, name).toBeGreaterThan(300);
    }
  });

  it("is refused if it ends before enough customers have counted", async () => {
    const shop = emailShop(customers(100, [0.1, 0.1, 0.1]), "visit", 100, ["test"]);
    await expect(playBy(emailAlgorithms.uniform, shop, "uniform", 0)).rejects.toThrow(
      /expected a log of about 300 customers or more, got 100/,
    );
  });
});

describe("classes of UCI", () => {
  const lines: Record<string, string[]> = {
    shuttle: ["50 21 77 0 28 0 27 48 22 2", "55 0 92 1 0 26 36 92 56 4", "53 0 82 0 52 -5 29 30 2 1"],
    magic: ["28.7,16.0,2.6,0.3,0.1,27.7,22.0,-8.2,40.0,81.8,g", "31.6,11.7,2.5,0.5,0.3,26.2,23.8,-9.9,6.3,205.2,h"],
    adult: [
      "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K",
      "50, ?, 83311, HS-grad, 9, Married-civ-spouse, Exec-managerial, Husband, White, Male, 0, 1902, 13, Cuba, >50K",
      "",
    ],
  };

  it.each(Object.keys(dataSets))("%s is read as UCI publishes it, and played with both kinds of features", async (id) => {
    const path = await file(id, lines[id]);
    const rows = (await readClasses(path, dataSets[id])).flatMap((row) => Array<typeof row>(20).fill(row));
    const classes = new Set(rows.map(({ label }) => label)).size;
    expect(classes).toBe(lines[id].filter((line) => line !== "").length);
    for (const isPublished of [true, false]) {
      for (const delay of [0, 10]) {
        const shop = classShop(rows, { horizon: 25, delay, isPublished }, ["test"]);
        for (const name of ["default", "greedy, waiting"]) {
          const { regret } = await playBy(classAlgorithms[name], shop, name, 0);
          expect(regret.every((each) => each === 0 || each === 1)).toBe(true);
        }
      }
    }
  });

  it("are learnt: a regression makes less than half of the mistakes of chance", async () => {
    const rows = (await readClasses(await file("learnt", lines.shuttle), dataSets.shuttle)).flatMap((row) =>
      Array<typeof row>(200).fill(row),
    );
    const shop = classShop(rows, { horizon: 500, delay: 10, isPublished: true }, ["test"]);
    const { regret } = await playBy(classAlgorithms["LinUCB as published, waiting"], shop, "LinUCB", 0);
    expect(regret.reduce((sum, each) => sum + each, 0)).toBeLessThan(500 / 3);
  });

  it.each<[string, string[], RegExp]>([
    ["with a word for a number", [lines.shuttle[0].replace("77", "x"), lines.shuttle[1]], /expected field 3 to be a number, got "x"/],
    ["with one class", [lines.shuttle[0]], /expected at least two classes/],
    ["with commas", [lines.shuttle[0].replaceAll(" ", ",")], /row 1: expected 10 fields, got 1/],
  ])("are refused %s", async (_, text, message) => {
    const error = await readClasses(await file("bad", text), dataSets.shuttle).catch((each) => each);
    expect([error.name, error.message]).toEqual(["LogError", expect.stringMatching(message)]);
  });

  it("are refused if there are too few rows", async () => {
    const rows = await readClasses(await file("few", lines.shuttle), dataSets.shuttle);
    expect(() => classShop(rows, { horizon: 4, delay: 0, isPublished: true }, ["test"])).toThrow(/expected at least 4 rows, got 3/);
  });
});

it("states the published mistakes beside LinUCB as published, and beside nothing else", () => {
  const stated = paper.experiments.flatMap(({ id, settings, algorithms, paperValue }) =>
    settings.flatMap((setting) =>
      algorithms.flatMap((algorithm) => {
        const value = paperValue?.(setting, algorithm, "cumulative regret", 10_000) ?? null;
        return value === null ? [] : [[id, setting, algorithm, value]];
      }),
    ),
  );
  expect(stated.map(([id, , , value]) => [id, value])).toEqual([
    ["shuttle", 967],
    ["magic", 2604],
    ["adult", 2098],
  ]);
});
