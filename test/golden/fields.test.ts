import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { casesOf } from "../../trials/golden/format.ts";

// Every field of every golden file is compared, changes a compared value, or is in this list.

/** Fields that describe the file, or how its reference was made. */
const DESCRIPTIVE: Record<string, readonly string[]> = {
  "additive_kernel.json": ["what", "precision", "tolerance"],
  // Intermediate values. The resulting lengths of rounds are compared.
  "bpe.json": [
    "what",
    "tie_rule",
    "lengths[].psi_T_half_delta",
    "lengths[].u",
    "lengths[].q[]",
    "lengths[].t_uncut[]",
    "run.bpe_delay.q[]",
    "run.bpe_delay.rounds[].min_argmax_gap",
    "run.bpe.rounds[].min_argmax_gap",
  ],
  // The window is longer than the run.
  "delay_linear.json": ["what", "delay_linear[].label", "delay_linear[].window.rounds"],
  "delays.json": ["what"],
  "dlpp.json": ["what", "tie_rule", "cases[].label"],
  "ei.json": ["what", "tolerance"],
  "gp_incremental.json": ["what", "precision", "cases[].label", "cases[].suggested_abs_tol"],
  "gp_posterior.json": [
    "what",
    "precision",
    "note",
    "cases[].label",
    "cases[].suggested_abs_tol",
    "cases[].float64_direct_cholesky_error.mean",
    "cases[].float64_direct_cholesky_error.var",
    "cases[].float64_direct_cholesky_error.lml",
    "cases[].condition_number",
  ],
  "gp_replicated.json": ["what", "precision", "cases[].label", "cases[].max_difference_expanded_vs_unique", "cases[].suggested_abs_tol"],
  "kernels.json": ["what", "precision", "tolerance"],
  // The multiplier that follows from the determinant is compared. A policy does not reveal the second-best score.
  "mini.json": ["what", "tie_rule", "results[].logdet[]", "results[].min_gap", "results[].min_floor_margin"],
  // The multiplier that follows from f is compared.
  "otflin.json": ["what", "tie_rule", "results[].state[].f"],
  "sdf_contextual.json": ["what", "tie_rule"],
  "sdf_ts.json": ["what", "tie_rule"],
  "sdf_ucb.json": ["what", "tie_rule", "indexing"],
  "zooming.json": ["what", "tie_rule", "events", "cases[].label"],
};

interface Leaf {
  /** Path of the field, with [] for every index of an array. */
  readonly path: string;
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function leavesOf(holder: object, path = ""): Leaf[] {
  return Object.entries(holder).flatMap(([key, value]) => {
    const own = Array.isArray(holder) ? `${path}[]` : path ? `${path}.${key}` : key;
    if (value !== null && typeof value === "object") return leavesOf(value, own);
    return value === null ? [] : [{ path: own, holder: holder as Record<string, unknown>, key }];
  });
}

/** A value far from the original. */
function changed(value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  if (typeof value === "string") return "?";
  return Number.isInteger(value) ? 2 * (value as number) + 1 : (value as number) * 1.5 + 0.1;
}

async function passes(file: object): Promise<boolean> {
  try {
    for (const { run } of casesOf(file)) if ((await run()) === "skipped") return false;
    return true;
  } catch {
    return false;
  }
}

const folder = new URL("./cases/", import.meta.url);
const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();

it("lists what describes every file", () => {
  expect(Object.keys(DESCRIPTIVE).sort()).toEqual(files);
});

/** Keeps only the changed list of cases, so that the other lists need not run. */
function narrowed(file: Record<string, unknown>, original: Record<string, unknown>): object {
  const lists = Object.keys(file).filter((key) => Array.isArray(file[key]) && typeof (file[key] as unknown[])[0] === "object");
  const cases = lists.filter((key) => !Array.isArray((file[key] as unknown[])[0]));
  const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  const own = cases.find((key) => !same(file[key], original[key]));
  if (own) {
    const changes = (file[own] as unknown[]).filter((each, i) => !same(each, (original[own] as unknown[])[i]));
    return { ...file, ...Object.fromEntries(cases.map((key) => [key, key === own ? changes : []])) };
  }
  return "run" in file && !same(file.run, original.run) ? { ...file, ...Object.fromEntries(cases.map((key) => [key, []])) } : file;
}

const PLACES = 40;

/** Whether the runner notices a change at some place of the field. Not every place matters: most feedback never arrives. */
async function isSeen(text: string, path: string): Promise<boolean> {
  for (let place = 0; place < PLACES; place++) {
    const file = JSON.parse(text);
    const places = leavesOf(file).filter((leaf) => leaf.path === path);
    // Golden-section steps spread the places evenly, however many are tried.
    const { holder, key } = places[Math.floor(((0.618034 * place) % 1) * places.length)];
    holder[key] = changed(holder[key]);
    if (!(await passes(narrowed(file, JSON.parse(text))))) return true;
    if (places.length === 1) return false;
  }
  return false;
}

it.each(files)("a change in any field of %s is seen, but for those that describe", async (name) => {
  const text = await readFile(new URL(name, folder), "utf8");
  const paths = [...new Set(leavesOf(JSON.parse(text)).map(({ path }) => path))];
  const silent: string[] = [];
  for (const path of paths) if (!DESCRIPTIVE[name].includes(path) && !(await isSeen(text, path))) silent.push(path);
  expect(silent).toEqual([]);
  expect(DESCRIPTIVE[name].filter((path) => !paths.includes(path))).toEqual([]);
});
