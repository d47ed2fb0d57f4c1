import { QUANTILE } from "../../src/values/quantile.ts";

/** Counts of the mutants of a folder, by fate. */
export interface Score {
  readonly folder: string;
  readonly killed: number;
  readonly survived: number;
  readonly equivalent: number;
}

const LEAST_SHARE = 0.88;
const LEAST_SHARE_OF_FOLDER = 0.8;

/** Share killed, with its 95 % interval (Wilson 1927). Equivalent mutants do not count. */
export function shareOf({ killed, survived }: Pick<Score, "killed" | "survived">): { value: number; low: number; high: number } {
  const n = killed + survived;
  if (n === 0) return { value: 1, low: 0, high: 1 };
  const value = killed / n;
  const centre = (value + QUANTILE ** 2 / (2 * n)) / (1 + QUANTILE ** 2 / n);
  const half = (QUANTILE * Math.sqrt((value * (1 - value)) / n + QUANTILE ** 2 / (4 * n ** 2))) / (1 + QUANTILE ** 2 / n);
  return { value, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

function total(scores: readonly Score[]): Score {
  const sum = (of: "killed" | "survived" | "equivalent"): number => scores.reduce((all, score) => all + score[of], 0);
  return { folder: "all", killed: sum("killed"), survived: sum("survived"), equivalent: sum("equivalent") };
}

export function isEnough(scores: readonly Score[]): boolean {
  return shareOf(total(scores)).value >= LEAST_SHARE && scores.every((score) => shareOf(score).value >= LEAST_SHARE_OF_FOLDER);
}

export function table(scores: readonly Score[]): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const rows = [...scores, total(scores)].map((score) => {
    const { value, low, high } = shareOf(score);
    const counts = [score.killed, score.survived, score.equivalent].map(String);
    return [score.folder, ...counts, percent(value), `${percent(low)} to ${percent(high)}`];
  });
  const lines = [["folder", "killed", "survived", "equivalent", "share killed", "95 % interval"], ...rows];
  const widths = lines[0].map((_, column) => Math.max(...lines.map((cells) => cells[column].length)));
  const padded = lines.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column])).join("  "));
  return padded.map((line) => line.trimEnd()).join("\n");
}
