// The exports of core.wasm. Handles and pointers are u32, arrays are of f64; src/core/core.ts is the only caller.

export { absorb, digest } from "./digest";
export { gpScoreWatched, gpWatch } from "./domain";
export { exponential as exp } from "./exponential";
export { gpInformationGain, gpLogMarginalLikelihood } from "./evidence";
export {
  gpAppend,
  gpAppendGroup,
  gpClamped,
  gpCounts,
  gpCreate,
  gpFactor,
  gpPoints,
  gpRefactor,
  gpRelease,
  gpReplicate,
  gpResize,
  gpReward,
  gpSetKernel,
  gpSetSquares,
  gpSize,
  gpSquares,
  gpSums,
  gpTouch,
} from "./gaussian-process";
export { kernelMatrix } from "./kernels";
export { gpFind, gpNearest } from "./lookup";
export { allocate, release } from "./memory";
export { improvement, logImprovement } from "./normal";
export { gpFactorPrior, gpSampleWatched } from "./pathwise";
export { gpCovariance, gpMean, gpSample, gpScore } from "./posterior";
export { normals, uniforms } from "./random";
export {
  ridgeAppend,
  ridgeCreate,
  ridgeEstimate,
  ridgeLogDeterminant,
  ridgeRefactor,
  ridgeRelease,
  ridgeReward,
  ridgeState,
  ridgeTouch,
} from "./ridge";
export { ridgeDraw, ridgeDrawScores, ridgeProducts, ridgeSample, ridgeScore } from "./ridge-scores";

/** The natural logarithm, within 0.52 units in the last place. */
export function log(x: f64): f64 {
  return Math.log(x);
}
