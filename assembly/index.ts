// The exports of core.wasm. Handles and pointers are u32, arrays hold f64. src/core is the only caller.

export { gpScoreGroup, gpScoreWatched, gpWatch } from "./gaussian-process/watched";
export { gpContenders, gpMeanError } from "./gaussian-process/contenders";
export { gpInformationGain, gpLogMarginalLikelihood } from "./gaussian-process/evidence";
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
} from "./gaussian-process/gaussian-process";
export { kernelMatrix } from "./gaussian-process/kernels";
export { squareRoots } from "./matrix/linalg";
export { gpFind, gpNearest } from "./gaussian-process/lookup";
export { improvement, logImprovement } from "./numbers/improvement";
export { gpFactorPrior, gpSampleWatched } from "./gaussian-process/pathwise";
export { gpCovariance, gpMean, gpSample, gpScore } from "./gaussian-process/posterior";
export * from "./linear";
