import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { equivalentOf, equivalents } from "../../../trials/mutations/equivalent.ts";
import { type Planted, plantedIn } from "../../../trials/mutations/mutant.ts";
import { isEnough, shareOf } from "../../../trials/mutations/score.ts";

const TEXTS: Readonly<Record<string, string>> = {
  "assembly/sum.ts": "// @ts-ignore: decorator\n@inline export function sum(a: f64, b: f64): f64 {\n  return a + b;\n}\n",
  "src/age.ts": "/** Since then. */\nexport const age = (now: number, then: number): number => now - then;\n",
  "worker/row-store.ts": 'export const due = "SELECT id FROM row WHERE ends <= ? AND open";\nexport const label = "no such row";\n',
};

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

  it("are of SQL, but of no other text", () => {
    const text = TEXTS["worker/row-store.ts"];
    expect(written("worker/row-store.ts")).toEqual([text.replace("<=", "<"), text.replace(" AND ", " OR ")]);
  });
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
});
