import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const cases = new URL("./cases", import.meta.url).pathname;
const run = (folder: string): Promise<{ code: number; stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, ["scripts/golden.ts", folder]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-golden-"));
});
afterAll(() => rm(folder, { recursive: true }));

it("passes every case of an algorithm that is here", async () => {
  const { code, stdout } = await run(cases);
  expect(stdout).not.toContain("failed  ");
  expect(stdout).toMatch(/\n\d+ passed, 0 failed, 0 skipped\n$/);
  expect(Number(/(\d+) passed/.exec(stdout)?.[1])).toBeGreaterThanOrEqual(150);
  expect(code).toBe(0);
});

it("fails on an empty folder, and on a file of no known shape", async () => {
  expect((await run(folder)).code).toBe(1);
  await writeFile(join(folder, "other.json"), '{"cases":[]}');
  const { code, stdout } = await run(folder);
  expect([code, stdout.trim().split("\n").at(-1)]).toEqual([1, "0 passed, 1 failed, 0 skipped"]);
  await rm(join(folder, "other.json"));
});

// One value of each file is changed, by far more than its tolerance: the runner must see it.
const changes: [string, (file: any) => void][] = [
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

describe("a changed file", () => {
  it.each(changes)("%s is seen to fail (change %#)", async (name, change) => {
    const file = JSON.parse(await readFile(join(cases, `${name}.json`), "utf8"));
    change(file);
    await writeFile(join(folder, `${name}.json`), JSON.stringify(file));
    const { code, stdout } = await run(folder);
    await rm(join(folder, `${name}.json`));
    expect(code).toBe(1);
    expect(stdout).toMatch(/, 1 failed, /);
  });
});
