import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { shuffled, stream } from "../../src/simulation/stream.ts";
import { MOST_PLACES, PLACES } from "./places.ts";

/** A small error, planted at one place of the product code. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** Offsets into the file's text. */
  readonly start: number;
  readonly end: number;
  readonly original: string;
  readonly replacement: string;
  readonly operator: string;
  /** Id under which the instrumented code reports that a test reached this place. */
  readonly place: string;
}

/** All mutants, and each file's text with code that reports reached places. */
export interface Planted {
  readonly mutants: readonly Mutant[];
  readonly instrumented: ReadonlyMap<string, string>;
}

export const FOLDERS: readonly string[] = ["assembly", "src", "worker", "pages", "cli"];
const LEFT_OUT = /__tests__|\.d\.ts$|\/build\.ts$|^src\/simulation\//;

/** Small errors in SQL. The instrumenter treats SQL as text. */
const SQL = /\b(SELECT|INSERT|UPDATE|DELETE|WHERE)\b|= (max|min)\(/;
const SQL_ERRORS: readonly [pattern: RegExp, replacement: string][] = [
  [/<=/g, "<"],
  [/>=/g, ">"],
  [/(?<![<>])<(?![=>])/g, "<="],
  [/(?<![<>])>(?!=)/g, ">="],
  [/ = \?/g, " <> ?"],
  [/ AND /g, " OR "],
  [/\bmax\(/g, "min("],
  [/\bmin\(/g, "max("],
  [/ DESC\b/g, ""],
  [/ \+ /g, " - "],
  [/ - /g, " + "],
  [/ OR IGNORE\b/g, ""],
  [/ IS NULL\b/g, " IS NOT NULL"],
  [/ IS NOT NULL\b/g, " IS NULL"],
];

/** Paths of the product code from the root. */
export function productFiles(root: string): string[] {
  const names = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }).sort());
  return names.filter((name) => !LEFT_OUT.test(name));
}

/** Every mutant of the product code below `root`. Text for people (messages, labels) is not mutated; SQL is. */
export async function plantedIn(root: string): Promise<Planted> {
  const instrumenter = new Instrumenter(silent as never);
  const names = productFiles(root);
  const texts = new Map<string, string>();
  for (const name of names) texts.set(name, await readFile(join(root, name), "utf8"));
  const files = Array.from(texts, ([name, text]) => ({ name, mutate: true, content: parseable(name, text) }));
  const planted = await instrumenter.instrument(files, { ignorers: [], excludedMutations: [], plugins: null });
  const mutants = planted.mutants.flatMap(({ id, fileName: file, location, mutatorName, replacement }): Mutant[] => {
    const text = texts.get(file) as string;
    const [start, end] = [offsetOf(text, location.start), offsetOf(text, location.end)];
    const original = text.slice(start, end);
    const line = location.start.line + 1;
    if (mutatorName !== "StringLiteral") return [{ file, line, start, end, original, replacement, operator: mutatorName, place: id }];
    return sqlErrors(original).map((wrong) => ({ file, line, start, end, original, replacement: wrong, operator: "SQL", place: id }));
  });
  return { mutants, instrumented: new Map(planted.files.map(({ name, content }) => [name, reporting(content)])) };
}

/** The three functions with which the instrumenter begins a file. */
const HEAD = /function stryNS_9fa48\(\) \{[\s\S]*?function stryMutAct_9fa48\(id\) \{[\s\S]*?\n\}\n/;
const NOTE = /stryCov_9fa48\(("\d+"(?:, "\d+")*)\)/g;

/**
 * The instrumented code with quicker reports: a place that is reached sets its entry of `PLACES`. The instrumenter's own functions
 * count in objects by test, which takes many times as long as the code itself.
 */
function reporting(content: string): string {
  const setting = (_: string, ids: string): string =>
    `(${ids
      .replaceAll('"', "")
      .split(", ")
      .map((id) => `reached_9fa48[${id}] = `)
      .join("")}1)`;
  const head = `const reached_9fa48 = (globalThis.${PLACES} ??= new Uint8Array(${MOST_PLACES}));\nfunction stryMutAct_9fa48(id) {\n  return false;\n}\n`;
  return content.replace(HEAD, head).replace(NOTE, setting);
}

/** Makes AssemblyScript parseable for Babel: decorators of functions become comments of the same length. */
function parseable(name: string, text: string): string {
  if (!name.startsWith("assembly/")) return text;
  return text.replace(/(?<=^[ \t]*)@\w+/gm, (decorator) => `/*${"-".repeat(decorator.length - 4)}*/`);
}

function sqlErrors(text: string): string[] {
  if (!SQL.test(text)) return [];
  return SQL_ERRORS.flatMap(([pattern, replacement]) =>
    Array.from(text.matchAll(pattern), ({ index, 0: { length } }) => text.slice(0, index) + replacement + text.slice(index + length)),
  );
}

function offsetOf(text: string, { line, column }: { readonly line: number; readonly column: number }): number {
  let start = 0;
  for (let i = 0; i < line; i++) start = text.indexOf("\n", start) + 1;
  return start + column;
}

/** The mutants of each folder in a random order that `seed` fixes. */
export function drawn(mutants: readonly Mutant[], seed: number): Map<string, Mutant[]> {
  return new Map(
    FOLDERS.map((folder) => {
      const own = mutants.filter(({ file }) => file.startsWith(`${folder}/`));
      return [folder, shuffled(own, stream("mutations", seed, folder))];
    }),
  );
}

/** A logger for the instrumenter: every level is off. */
const silent = new Proxy({}, { get: () => () => false });
