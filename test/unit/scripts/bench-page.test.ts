import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Entry } from "../../../bench/entry.ts";
import { axes, drawingOf, pointsOf, sizesOf } from "../../../bench/figure.ts";
import { tablesOf } from "../../../bench/page.ts";
import { workloads } from "../../../bench/workloads.ts";
import { withTables } from "../../../cli/command/markdown.ts";

const entries: Entry[] = JSON.parse(await readFile("bench/results.json", "utf8"));

describe("docs/speed.md", () => {
  it("has the tables of bench/results.json", async () => {
    const page = await readFile("docs/speed.md", "utf8");
    expect(withTables(page, tablesOf(entries))).toBe(page);
  });

  it.each(axes)("has the figure of bench/results.json against $name", async (axis) => {
    expect(await readFile(`docs/figures/speed-${axis.name}.svg`, "utf8")).toBe(await drawingOf(axis, entries));
  });

  it("has results of workloads that there are", () => {
    const names = workloads.map(({ name }) => name);
    expect(entries.map(({ workload }) => workload).filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe("a figure", () => {
  const entry = (workload: string): Entry => {
    const variants = [{ variant: "afterclick", median: 2, p10: 1, p90: 3, runs: 9 }];
    return { workload, unit: "ms", peer: "afterclick", machine: "a machine", day: "2026-01-01", variants, missing: {} };
  };

  it("reads sizes from the names of workloads, and knows those that a name leaves out", () => {
    expect(sizesOf("gp-score n=500 k=100")).toEqual({
      work: "gp-score",
      sizes: new Map([
        ["n", 500],
        ["k", 100],
      ]),
    });
    expect(sizesOf("decision-goals k=100 d=128").sizes.get("goals")).toBe(2);
    expect(sizesOf("decision-goals k=100 d=128 goals=4").sizes.get("goals")).toBe(4);
  });

  it("has a panel for what differs only in one size, from two sizes up", () => {
    const all = ["decision k=100 d=128", "decision k=1000 d=128", "decision k=1000 d=256", "decision-goals k=100 d=128"].map(entry);
    const points = (name: string) => pointsOf({ name, works: ["decision"] }, all).map(({ panel, at }) => [panel, at]);
    expect(points("k")).toEqual([
      ["decision d=128 (ms)", 100],
      ["decision d=128 (ms)", 1000],
    ]);
    expect(points("goals")).toEqual([
      ["decision k=100 d=128 (ms)", 1],
      ["decision k=100 d=128 (ms)", 2],
    ]);
  });
});
