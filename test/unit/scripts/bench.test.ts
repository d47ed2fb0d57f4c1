import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { local, prepared } from "../../../bench/variant.ts";
import { compare, measure } from "../../../bench/workload.ts";

const execute = promisify(execFile);
const bench = (...args: string[]) => execute(process.execPath, ["bench/bench.ts", ...args]);

describe("the command", () => {
  it("prints the results of the asked workload as JSON, and nothing else", async () => {
    const { stdout } = await bench("--json", "--only", "snapshot-restore ridge d=128");
    const results = JSON.parse(stdout);
    expect(results).toEqual([
      {
        workload: "snapshot-restore ridge d=128",
        variant: "afterclick",
        unit: "ms",
        median: expect.any(Number),
        p10: expect.any(Number),
        p90: expect.any(Number),
        runs: 15,
      },
    ]);
    const [{ median, p10, p90 }] = results;
    expect(p10).toBeGreaterThan(0);
    expect(median).toBeGreaterThanOrEqual(p10);
    expect(p90).toBeGreaterThanOrEqual(median);
  });

  it("refuses an unknown workload, and names the known ones", async () => {
    await expect(bench("--only", "ridge-score d=17 k=100")).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^--only: expected one of the workloads below, got "ridge-score d=17 k=100".*ridge-score d=16 k=100\n/s,
      ),
    });
  });
});

describe("a comparison", () => {
  const targets = [
    { variant: "afterclick", peer: "c", atLeast: 2 },
    { variant: "afterclick", atMost: 0.9 },
    { variant: "afterclick", peer: "absent", atLeast: 1 },
  ] as const;
  const values = new Map([
    ["afterclick", [1, 2, 1]],
    ["c", [2, 6, 2]],
  ]);

  it("takes ratios round by round, and passes over targets whose variants did not run", () => {
    const { ratios, findings } = compare({ name: "work", unit: "us", peer: "c", targets }, values);
    expect(ratios.get("afterclick")).toBe(2);
    expect(findings).toEqual([
      { text: "afterclick 2 x c, wanted 2 x", met: true },
      { text: "afterclick 1 us, wanted 0.9 us", met: false },
    ]);
  });

  it("finds a rate better the more it is", () => {
    expect(compare({ name: "work", unit: "requests/s", peer: "c" }, values).ratios.get("afterclick")).toBe(0.5);
  });
});

describe("variants", () => {
  const work = () => {};

  it("of which one computes something else are no workload", async () => {
    const variants = { afterclick: local(work, Float64Array.of(1, 2)), c: local(work, Float64Array.of(1, 2 + 1e-7)) };
    await expect(prepared("us", variants)).rejects.toThrow("c: expected number 1 of its answer");
  });

  it("that agree to rounding are measured in turns, each as often, and a missing one is named", async () => {
    const turns: string[] = [];
    const variant = (name: string, answer: number) => ({
      answer: Float64Array.of(answer),
      run(times: number) {
        turns.push(name);
        return 0.02 * times;
      },
    });
    const prepare = () => prepared("ms", { afterclick: variant("a", 1), c: variant("c", 1 + 1e-9), numpy: { missing: "not installed" } });
    const { results, missing } = await measure({ name: "work", unit: "ms", rounds: 3, warmUps: 1, peer: "c", prepare });
    expect(turns.join("")).toBe("acacca" + "ac");
    expect(results.map(({ variant, median, runs }) => ({ variant, median, runs }))).toEqual([
      { variant: "afterclick", median: 20, runs: 3 },
      { variant: "c", median: 20, runs: 3 },
    ]);
    expect(missing).toEqual({ numpy: "not installed" });
  });
});
