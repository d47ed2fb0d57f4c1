import * as factories from "./factories.ts";
import type { PolicyFactory } from "./rule.ts";

// Each factory is named, because no bundler can drop unused factories of Object.values(factories).

/** Every policy of this version. Conformance tests, the worker and the table in docs/choosing.md follow this list. */
export const policies: readonly PolicyFactory[] = [
  factories.otfLinUcb,
  factories.otfLinTs,
  factories.delayLinUcb,
  factories.delayLinTs,
  factories.gpUcbSdf,
  factories.gpTsSdf,
  factories.gpUcb,
  factories.asyTs,
  factories.gpBucb,
  factories.gpBts,
  factories.delayGpUcb,
  factories.delayGpTs,
  factories.bpeDelay,
  factories.bpe,
  factories.delayedZooming,
  factories.dlpp,
  factories.miniGpUcb,
  factories.miniGpEi,
  factories.gpEi,
  factories.bestsellers,
  factories.epsilonGreedy,
  factories.uniform,
];
