import { delayGpTs } from "./recommended/delay-gp-ts.ts";
import { delayGpUcb } from "./recommended/delay-gp-ucb.ts";
import { delayLinTs } from "./recommended/delay-lin-ts.ts";
import { delayLinUcb } from "./recommended/delay-lin-ucb.ts";
import { delayedZooming } from "./recommended/delayed-zooming.ts";
import { gpBts } from "./recommended/gp-bts.ts";
import { gpBucb } from "./recommended/gp-bucb.ts";
import { gpUcbSdf } from "./recommended/gp-ucb-sdf.ts";
import { miniGpUcb } from "./recommended/mini-gp-ucb.ts";
import { asyTs } from "./research/asy-ts.ts";
import { bpe } from "./research/bpe.ts";
import { bpeDelay } from "./research/bpe-delay.ts";
import { dlpp } from "./research/dlpp.ts";
import { epsilonGreedy } from "./research/epsilon-greedy.ts";
import { gpEi } from "./research/gp-ei.ts";
import { gpTsSdf } from "./research/gp-ts-sdf.ts";
import { gpUcb } from "./research/gp-ucb.ts";
import { miniGpEi } from "./research/mini-gp-ei.ts";
import { otfLinTs } from "./research/otf-lin-ts.ts";
import { otfLinUcb } from "./research/otf-lin-ucb.ts";
import { uniform } from "./research/uniform.ts";
import type { PolicyFactory } from "./rule.ts";

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
