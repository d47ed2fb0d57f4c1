// Finds the tests that reach a mutant, so that only they run.

import { dirname } from "node:path";
import type { Mutant, Planted } from "./mutant.ts";
import type { Report, Selection } from "./selection.ts";
import { run, type SuiteTest } from "./suite.ts";
import type { Tree } from "./tree.ts";

/** Tests that run product code in other processes, which report no places. The mutated file selects these tests. */
const ELSEWHERE: readonly [product: RegExp, tests: RegExp][] = [
  [/^(demo|pages)\//, /^test\/browser\/(shop|dashboard|playground)/],
  [/^(publication|local)\//, /^test\/browser\/local/],
  [/^beacon\//, /^test\/browser\/beacon/],
  [/^(publication|worker)\//, /^test\/simulation\//],
  [/^cli\//, /^test\/unit\/cli\//],
  [/^src\/(model|policy)\//, /^test\/regret\//],
  [/^assembly\//, /^test\/(unit|property|conformance|golden|regret)\//],
];

/** Duration of loading a test file, before its first test. */
const START_MS = 600;

/** The tests that reach each place of the product code. */
export class Coverage {
  readonly #tests: readonly SuiteTest[];
  readonly #byPlace = new Map<string, Set<SuiteTest>>();
  readonly #byFile = new Map<string, Set<SuiteTest>>();
  /** Places reached while a module loads. Only the first of several test files that share a process reports them. */
  readonly #outside: ReadonlySet<string>;
  readonly #finds = new Map<string, number>();

  constructor(tests: readonly SuiteTest[], reports: readonly Report[], mutants: readonly Mutant[]) {
    this.#tests = tests;
    this.#outside = new Set(reports.flatMap(({ placesOfFile }) => placesOfFile));
    const named = new Map(tests.map((test) => [`${test.file}: ${test.name}`, test]));
    const files = new Map(mutants.map(({ place, file }) => [place, file]));
    const note = (map: Map<string, Set<SuiteTest>>, key: string, test: SuiteTest) => map.set(key, (map.get(key) ?? new Set()).add(test));
    const reach = (test: SuiteTest, places: readonly string[]) => {
      for (const place of places) {
        note(this.#byPlace, place, test);
        note(this.#byFile, files.get(place) as string, test);
      }
    };
    for (const { file, name, places, placesOfFile } of reports) {
      const test = named.get(`${file}: ${name}`);
      if (test) reach(test, places);
      // The file's own set-up reached these places for all its tests.
      if (placesOfFile.length > 0) for (const each of tests) if (each.file === file) reach(each, placesOfFile);
    }
  }

  /** Notes that a test file killed a mutant. It then runs earlier for mutants of the same folder. */
  found(mutant: { readonly file: string }, testFile: string): void {
    const key = `${dirname(mutant.file)} ${testFile}`;
    this.#finds.set(key, (this.#finds.get(key) ?? 0) + 1);
  }

  /** The tests that may kill a mutant, by file. Quick files that killed many mutants of the folder come first. */
  testsOf({ file, place }: { readonly file: string; readonly place: string }): {
    readonly selection: Selection;
    readonly slowestMs: number;
  } {
    const elsewhere = ELSEWHERE.filter(([product]) => product.test(file)).map(([, tests]) => tests);
    const reaching = new Set(this.#byPlace.get(place));
    if (this.#outside.has(place)) for (const test of this.#byFile.get(file) ?? []) reaching.add(test);
    for (const test of this.#tests) if (elsewhere.some((pattern) => pattern.test(test.file))) reaching.add(test);
    const files = new Map<string, SuiteTest[]>();
    for (const test of reaching) files.set(test.file, [...(files.get(test.file) ?? []), test]);
    const cost = (tests: readonly SuiteTest[]): number => tests.reduce((sum, { ms }) => sum + ms, 0);
    const promise = ([name, tests]: readonly [string, readonly SuiteTest[]]): number =>
      (1 + (this.#finds.get(`${dirname(file)} ${name}`) ?? 0)) / (START_MS + cost(tests));
    const promisingFirst = Array.from(files).sort((a, b) => promise(b) - promise(a));
    return {
      selection: { files: promisingFirst.map(([name, tests]) => [name, tests.map((test) => test.name)]) },
      slowestMs: Math.max(0, ...Array.from(reaching, ({ ms }) => ms)),
    };
  }
}

/** Runs the whole suite over instrumented code, which reports the places that each test reaches. */
export async function measured(tree: Tree, planted: Planted, files: readonly string[], signal: AbortSignal): Promise<readonly Report[]> {
  for (const [file, text] of planted.instrumented) if (!file.startsWith("assembly/")) await tree.write(file, text);
  await tree.build("src/index.ts");
  const own = files.filter((file) => !file.startsWith("test/browser/"));
  const { reports } = await run(tree, { files: own.map((file) => [file, null]), places: true }, signal, { bail: false, slowestMs: 60_000 });
  return reports;
}
