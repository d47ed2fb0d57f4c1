// The exports of core.wasm. Handles and pointers are u32, arrays hold f64. src/core is the only caller.

export { gpScoreGroup, gpScoreWatched, gpWatch } from "./domain";
export { gpInformationGain, gpLogMarginalLikelihood } from "./evidence";
export {
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
  gpSetNoise,
  gpSetSquares,
  gpSize,
  gpSquares,
  gpSums,
  gpTouch,
  whitened as gpWhitened,
} from "./gaussian-process";
export { kernelMatrix } from "./kernels";
export { squareRoots } from "./linalg";
export { gpFind, gpNearest } from "./lookup";
export { improvement, logImprovement } from "./normal";
export { gpFactorPrior, gpSampleWatched } from "./pathwise";
export { gpCovariance, gpMean, gpSample, gpScore } from "./posterior";
export * from "./linear";
