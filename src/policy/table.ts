import { asyTs } from "./asy-ts.ts";
import { bpe } from "./bpe.ts";
import { bpeDelay } from "./bpe-delay.ts";
import { delayGpTs } from "./delay-gp-ts.ts";
import { delayGpUcb } from "./delay-gp-ucb.ts";
import { delayLinTs } from "./delay-lin-ts.ts";
import { delayLinUcb } from "./delay-lin-ucb.ts";
import { delayedZooming } from "./delayed-zooming.ts";
import { dlpp } from "./dlpp.ts";
import { epsilonGreedy } from "./epsilon-greedy.ts";
import { gpBts } from "./gp-bts.ts";
import { gpBucb } from "./gp-bucb.ts";
import { gpEi } from "./gp-ei.ts";
import { gpTsSdf } from "./gp-ts-sdf.ts";
import { gpUcb } from "./gp-ucb.ts";
import { gpUcbSdf } from "./gp-ucb-sdf.ts";
import { miniGpEi } from "./mini-gp-ei.ts";
import { miniGpUcb } from "./mini-gp-ucb.ts";
import { otfLinTs } from "./otf-lin-ts.ts";
import { otfLinUcb } from "./otf-lin-ucb.ts";
import type { PolicyFactory } from "./rule.ts";
import { uniform } from "./uniform.ts";

/** Every policy of this version. Conformance tests, the worker and the README's table follow this list. */
export const policies: readonly PolicyFactory[] = [
  otfLinUcb,
  otfLinTs,
  delayLinUcb,
  delayLinTs,
  gpUcbSdf,
  gpTsSdf,
  gpUcb,
  asyTs,
  gpBucb,
  gpBts,
  delayGpUcb,
  delayGpTs,
  bpeDelay,
  bpe,
  delayedZooming,
  dlpp,
  miniGpUcb,
  miniGpEi,
  gpEi,
  epsilonGreedy,
  uniform,
];
