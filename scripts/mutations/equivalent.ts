/** A mutant that no test can find, as it changes nothing that anybody can see. */
export interface Equivalent {
  readonly file: string;
  readonly original: string;
  readonly replacement: string;
  /** The argument. */
  readonly why: string;
}

export const equivalents: readonly Equivalent[] = [
  {
    file: "src/hashed-sum.ts",
    original: "square > 1",
    replacement: "square >= 1",
    why: "At 1 the scale is 1 / sqrt(1), which is 1 exactly, as it is without.",
  },
  {
    file: "src/model/gaussian-process.ts",
    original: "place < 0",
    replacement: "place <= 0",
    why: "Points among which the domain's first one is are scored instead of looked up, which gives the same bits, at more cost alone.",
  },
  {
    file: "src/policy/delay-gp-ucb.ts",
    original: "last.moments !== moments",
    replacement: "true",
    why: "Scores are a pure function of the moments, so that working them out again gives the same, at more cost alone.",
  },
  {
    file: "src/model/covering.ts",
    original: "this.#reach[ball] <= radius + SLACK",
    replacement: "false",
    why: "No point of the ball is farther than its reach, so none loses its witness, and the reach becomes the exact one: more cost alone.",
  },
  {
    file: "src/model/maturing-ridge.ts",
    original: "row < count",
    replacement: "row <= count",
    why: "All callers give one score to a point, so that the row after the last has no score to be added to.",
  },
  {
    file: "assembly/domain.ts",
    original: "k + GROUP - 1",
    replacement: "k + GROUP + 1",
    why: "There is at most one group more, without candidates; scores run over the candidates, so it takes memory alone.",
  },
];
