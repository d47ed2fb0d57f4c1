import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { Case } from "../../trials/golden/case.ts";
import { casesOf } from "../../trials/golden/format.ts";

const folder = fileURLToPath(new URL("./cases", import.meta.url));
// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Json = any;
const read = async (file: string): Promise<Json> => JSON.parse(await readFile(join(folder, file), "utf8"));
const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();

/** Message of the first failing case. Undefined if none fails. */
async function failure(cases: () => readonly Case[]): Promise<string | undefined> {
  try {
    for (const { run } of cases()) if ((await run()) === "skipped") return "skipped";
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

it.each(files)("%s passes", async (file) => {
  const cases = casesOf(await read(file));
  expect(cases.length).toBeGreaterThan(0);
  expect(await failure(() => cases)).toBeUndefined();
});

// Each change alters one value by far more than its tolerance. The runner must notice.
const changes: [string, (file: Json) => void][] = [
  ["kernels", (file) => void (file.cases[0].K[0][1] *= 1 + 1e-9)],
  ["gp_posterior", (file) => void (file.cases[0].mean[0] += 1e-9)],
  ["gp_posterior", (file) => void (file.cases[1].cov[0][1] += 1e-9)],
  ["gp_posterior", (file) => void (file.cases[2].log_marginal_likelihood += 1e-6)],
  ["gp_posterior", (file) => void (file.cases[3].information_gain += 1e-6)],
  ["gp_incremental", (file) => void (file.cases[0].steps[3].var[2] += 1e-9)],
  ["gp_replicated", (file) => void (file.cases[0].expanded_log_marginal_likelihood += 1e-6)],
  ["otflin", (file) => void (file.results[0].choices[150] = (file.results[0].choices[150] + 1) % 10)],
  ["otflin", (file) => void (file.results[4].state[3].beta += 1e-6)],
  ["otflin", (file) => void (file.results[6].state[2].width += 1e-6)],
  ["otflin", (file) => void (file.f_values[3].f += 1e-6)],
  ["sdf_ts", (file) => void (file.results[0].samples[1].f[4] += 1e-5)],
  ["sdf_ucb", (file) => void (file.results[0].nu[7] += 1e-6)],
  ["sdf_ucb", (file) => void (file.results[1].posterior_before_choice[5].mean[9] += 1e-6)],
  ["sdf_contextual", (file) => void (file.results[0].choices[20] = (file.results[0].choices[20] + 1) % 8)],
  ["bpe", (file) => void (file.lengths[3].t_cut_to_T[1] += 1)],
  ["bpe", (file) => void (file.run.bpe_delay.choices[100] = (file.run.bpe_delay.choices[100] + 1) % 40)],
  ["bpe", (file) => void (file.run.bpe.rounds[1].max_lcb += 1e-6)],
  ["mini", (file) => void (file.results[0].batches[76][1] += 1)],
  ["mini", (file) => void (file.results[4].mean_at_choice[9] += 1e-6)],
  ["mini", (file) => void (file.results[2].beta[5] += 1e-6)],
  ["ei", (file) => void (file.h[22].h *= 1 + 1e-9)],
  ["ei", (file) => void (file.h[27].log_h *= 1 + 1e-9)],
  ["ei", (file) => void (file.ei_scaled[4].value *= 1 + 1e-9)],
  ["delay_linear", (file) => void (file.delay_linear[0].steps.at(-1).expect.mean[1] += 1e-6)],
];

describe("a changed value", () => {
  it.each(changes)("of %s is seen to fail (change %#)", async (name, change) => {
    const file = await read(`${name}.json`);
    change(file);
    // Horizons of thousands of rounds take longer than all other cases.
    if (file.run && JSON.stringify(file.lengths) === JSON.stringify((await read(`${name}.json`)).lengths)) file.lengths = [];
    expect(await failure(() => casesOf(file))).toMatch(/expected/);
  });
});

describe("the command", () => {
  const run = (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    promisify(execFile)(process.execPath, ["trials/golden.ts", ...args]).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );

  it("prints a line per case and the counts, and fails if a case does or there is none", async () => {
    const temporary = await mkdtemp(join(tmpdir(), "afterclick-golden-"));
    try {
      expect(await run(temporary)).toEqual({ code: 1, stdout: "0 passed, 0 failed, 0 skipped\n", stderr: `Expected .json files in ${temporary}, got none.\n` });
      const file = await read("ei.json");
      await writeFile(join(temporary, "a.json"), JSON.stringify({ ...file, h: file.h.slice(0, 2), ei: [], ei_scaled: [] }));
      await writeFile(join(temporary, "read.me"), "no case");
      const lines = [0, 1].map((i) => `passed  a.json h(${file.h[i].u})\n`).join("");
      expect(await run(temporary)).toEqual({ code: 0, stdout: `${lines}2 passed, 0 failed, 0 skipped\n`, stderr: "" });
      await writeFile(join(temporary, "b.json"), '{"cases":[]}');
      const { code, stdout } = await run(temporary);
      expect([code, stdout.split("\n").slice(2, -1)]).toEqual([
        1,
        ["failed  b.json: expected a known golden format; trials/golden/format.ts lists them", "2 passed, 1 failed, 0 skipped"],
      ]);
    } finally {
      await rm(temporary, { recursive: true });
    }
  });

  it("says what it takes", async () => {
    expect([await run(), await run("--help")].map(({ code, stdout }) => [code, stdout.split("\n")[2]])).toEqual([
      [1, "Usage: npm run golden -- DIR"],
      [0, "Usage: npm run golden -- DIR"],
    ]);
  });
});
