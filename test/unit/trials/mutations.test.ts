import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { Coverage } from "../../../trials/mutations/coverage.ts";
import { equivalentOf, equivalents } from "../../../trials/mutations/equivalent.ts";
import { drawn, type Planted, plantedIn } from "../../../trials/mutations/mutant.ts";
import { placesReached } from "../../../trials/mutations/places.ts";
import { isEnough, shareOf, table } from "../../../trials/mutations/score.ts";
import { type Report, SELECTION } from "../../../trials/mutations/selection.ts";

const TEXTS: Readonly<Record<string, string>> = {
  "assembly/sum.ts": "// @ts-ignore: decorator\n@inline export function sum(a: f64, b: f64): f64 {\n  return a + b;\n}\n",
  "src/age.ts": "/** Since then. */\nexport const age = (now: number, then: number): number => now - then;\n",
  "worker/row-store.ts": 'export const due = "SELECT id FROM row WHERE ends <= ? AND open";\nexport const label = "no such row";\n',
};

it("runs the tests of all projects but those of speed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "afterclick-selection-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv(SELECTION, join(folder, "selection.json"));
  onTestFinished(() => void vi.unstubAllEnvs());
  await writeFile(join(folder, "selection.json"), JSON.stringify({ files: [] }));
  const { default: config } = await import("../../../trials/mutations/vitest.config.ts");
  const projects = config.test?.projects as readonly { readonly test: { readonly name: string } }[];
  expect(projects.map(({ test }) => test.name)).toEqual(["node", "long", "system", "worker"]);
});

describe("mutants", () => {
  let root: string;
  let planted: Planted;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "afterclick-mutants-"));
    for (const [file, text] of Object.entries(TEXTS)) {
      await mkdir(join(root, dirname(file)), { recursive: true });
      await writeFile(join(root, file), text);
    }
    planted = await plantedIn(root);
  });
  afterAll(() => rm(root, { recursive: true }));

  it("are known to change no result by a text that stands once in its file", async () => {
    const copy = await mkdtemp(join(tmpdir(), "afterclick-equivalents-"));
    onTestFinished(() => rm(copy, { recursive: true }));
    for (const { file } of equivalents) await cp(file, join(copy, file));
    const { mutants } = await plantedIn(copy);
    for (const each of equivalents) expect(mutants.filter((mutant) => equivalentOf(mutant) === each).length, each.why).toBe(1);
  });

  const written = (file: string): string[] =>
    planted.mutants
      .filter((mutant) => mutant.file === file)
      .map(({ start, end, replacement }) => TEXTS[file].slice(0, start) + replacement + TEXTS[file].slice(end));

  it("are of code that AssemblyScript alone can read, too", () => {
    expect(written("assembly/sum.ts")).toContain(TEXTS["assembly/sum.ts"].replace("a + b", "a - b"));
  });

  it("name the text that they replace, and its line", () => {
    const { line, original } = planted.mutants.find(({ file, replacement }) => file === "src/age.ts" && replacement === "now + then") ?? {};
    expect({ line, original }).toEqual({ line: 2, original: "now - then" });
    for (const { file, start, end, original } of planted.mutants) expect(TEXTS[file].slice(start, end)).toBe(original);
  });

  it("report each place that a call reaches, once", async () => {
    const text = planted.instrumented.get("src/age.ts") as string;
    expect(text).not.toContain("stryCov");
    const file = join(root, "reporting.ts");
    await writeFile(file, text);
    const { age } = await import(/* @vite-ignore */ file);
    placesReached();
    expect(age(5, 3)).toBe(2);
    const own = planted.mutants
      .filter(({ file, original }) => file === "src/age.ts" && original === "now - then")
      .map(({ place }) => place);
    expect(placesReached()).toEqual(expect.arrayContaining(own));
    expect(placesReached()).toEqual([]);
  });

  it("are of SQL, but of no other text", () => {
    const text = TEXTS["worker/row-store.ts"];
    expect(written("worker/row-store.ts")).toEqual([text.replace("<=", "<"), text.replace(" AND ", " OR ")]);
  });

  it("are drawn in the same order by the same seed, in another one by another", () => {
    const order = (seed: number) => drawn(planted.mutants, seed).get("assembly");
    expect(order(1)).toEqual(order(1));
    expect([2, 3, 4, 5].some((seed) => JSON.stringify(order(seed)) !== JSON.stringify(order(1)))).toBe(true);
    expect(new Set(order(3))).toEqual(new Set(planted.mutants.filter(({ file }) => file.startsWith("assembly/"))));
  });
});

it("selects the tests that reach a mutant, and all tests of a file whose set-up reaches it", () => {
  const tests = [
    { file: "test/a.test.ts", name: "adds", ms: 1 },
    { file: "test/b.test.ts", name: "subtracts", ms: 2 },
    { file: "test/b.test.ts", name: "divides", ms: 3 },
  ];
  const mutant = { file: "src/sum.ts", place: "1" } as Planted["mutants"][number];
  const report: Pick<Report, "places" | "placesOfFile" | "failed" | "ms"> = { failed: false, ms: 1, places: [], placesOfFile: [] };
  const selected = (...reports: Partial<Report>[]) =>
    new Coverage(
      tests,
      reports.map((each, i) => ({ ...report, ...tests[i], ...each })),
      [mutant],
    ).testsOf(mutant).selection.files;
  expect(selected({ places: ["1"] }, {})).toEqual([["test/a.test.ts", ["adds"]]]);
  expect(selected({}, { placesOfFile: ["1"] })).toEqual([["test/b.test.ts", ["subtracts", "divides"]]]);
  expect(selected({}, {})).toEqual([]);
});

describe("the score", () => {
  it("has Wilson's interval", () => {
    const { value, low, high } = shareOf({ killed: 9, survived: 1 });
    // 9 of 10, by R's binom::binom.wilson.
    expect([value, low, high].map((share) => share.toFixed(4))).toEqual(["0.9000", "0.5958", "0.9821"]);
    expect(shareOf({ killed: 0, survived: 0 })).toEqual({ value: 1, low: 0, high: 1 });
  });

  it.each([
    [88, 12, true],
    [87, 13, false],
  ])("of %i killed and %i survived is enough: %s", (killed, survived, enough) => {
    expect(isEnough([{ folder: "src", killed, survived, equivalent: 0 }])).toBe(enough);
  });

  it("is not enough if one folder falls behind", () => {
    const good = { folder: "src", killed: 100, survived: 0, equivalent: 0 };
    expect(isEnough([good, { folder: "local", killed: 8, survived: 2, equivalent: 0 }])).toBe(true);
    expect(isEnough([good, { folder: "local", killed: 7, survived: 3, equivalent: 0 }])).toBe(false);
  });

  it("is shown by folder and in all, without those set aside", () => {
    const scores = [
      { folder: "src", killed: 3, survived: 1, equivalent: 2 },
      { folder: "local", killed: 1, survived: 0, equivalent: 0 },
    ];
    const rows = table(scores)
      .split("\n")
      .map((line) => line.split(/ {2,}/).slice(0, 5));
    expect(rows.slice(1)).toEqual([
      ["src", "3", "1", "2", "75.0 %"],
      ["local", "1", "0", "0", "100.0 %"],
      ["all", "4", "1", "2", "80.0 %"],
    ]);
  });
});
