import type { Mutant } from "./mutant.ts";

/** A mutant that no test can kill, because it changes no result. It is known by its file and its text. */
export interface Equivalent {
  readonly file: string;
  readonly original: string;
  readonly replacement: string;
  /** The argument that it changes no result. */
  readonly why: string;
}

export const equivalents: readonly Equivalent[] = [
  {
    file: "src/model/gaussian-process/domain-moments.ts",
    original: "place < 0",
    replacement: "place <= 0",
    why: "Points that include the domain's first one are scored instead of looked up. The bits are the same, only the cost grows.",
  },
  {
    file: "src/policy/recommended/delay-gp-ucb.ts",
    original: "last.moments !== moments",
    replacement: "true",
    why: "Scores are a pure function of the moments. Computing them again costs time alone.",
  },
  {
    file: "src/model/lipschitz/covering.ts",
    original: "this.#reach[ball] <= radius + SLACK",
    replacement: "false",
    why: "No point of the ball is farther away than its reach, so none loses its witness. Computing the exact reach costs time alone.",
  },
  {
    file: "src/model/linear/corrected-mean.ts",
    original: "row < scores.length",
    replacement: "row <= scores.length",
    why: "The row after the last has no score: a typed array ignores what is written past its end.",
  },
  {
    file: "assembly/gaussian-process/watched.ts",
    original: "k + GROUP - 1",
    replacement: "k + GROUP + 1",
    why: "It adds at most one group without candidates. Scores run over the candidates, so this costs memory alone.",
  },
  {
    file: "src/model/delay/cohorts.ts",
    original: "other.start > start",
    replacement: "other.start >= start",
    why: "The list is searched for a cohort that holds `start` just before. One that begins there would have been found.",
  },
  {
    file: "src/model/batch/pure-exploration.ts",
    original: "i < deviation.length",
    replacement: "i <= deviation.length",
    why: "Past the end the deviation is undefined, which is greater than none.",
  },
  {
    file: "src/evaluation/log/laws-by-product.ts",
    original: "next < members.length",
    replacement: "true",
    why: "Past the end the age is undefined, which is less than no delay, so the loop ends there as well.",
  },
  {
    file: "assembly/matrix/semidefinite.ts",
    original: "i < n << 3",
    replacement: "i <= n << 3",
    why: "The number after the floors is the first one of the panel, which is cleared before it is read.",
  },
  {
    file: "assembly/matrix/panel.ts",
    original: "count < LANES",
    replacement: "count <= LANES",
    why: "A full panel is cleared and then overwritten, all four lanes of it.",
  },
  {
    file: "assembly/ridge/draw-lists.ts",
    original: "draw > 0 && draw <= pairs",
    replacement: "true",
    why: "The lists of lanes without a draw are never read. Filling them costs time alone.",
  },
  {
    file: "assembly/ridge/updates.ts",
    original: "updates.count++",
    replacement: "updates.count--",
    why: "The count wraps, so the queue is full after one update instead of many. The bits are the same, only the cost grows.",
  },
  {
    file: "worker/learner/store/in-order.ts",
    original: "b.row.seq < a.row.seq",
    replacement: "b.row.seq <= a.row.seq",
    why: "All tables share one sequence, so no two rows have the same number.",
  },
  {
    file: "cli/verify/replayed-shard.ts",
    original: "version >= this.#seq",
    replacement: "true",
    why: "Each version before the last event that a line needs is among the needs, so its sums were kept.",
  },
  {
    file: "cli/doctor/examination.ts",
    original: "skew > 0",
    replacement: "skew >= 0",
    why: "Only a difference of more than a minute is described, so it is not 0.",
  },
];

/** The entry of the list for a mutant, if it has one. */
export function equivalentOf({ file, original, replacement }: Mutant): Equivalent | undefined {
  return equivalents.find((each) => each.file === file && each.original === original && each.replacement === replacement);
}
