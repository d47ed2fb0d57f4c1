// The exports of linear.wasm: those of core.wasm that a linear posterior needs. Their results have the same bits.

export { catalogueCheck, catalogueProducts } from "./catalogue";
export { absorb, digest } from "./digest";
export { drawLists, drawScores, ridgeDraw, ridgeRows } from "./draws";
export { exponential as exp } from "./exponential";
export { allFinite } from "./linalg";
export { allocate, release } from "./memory";
export { normals, uniforms } from "./random";
export { ridgeAppend, ridgeCreate, ridgeEstimate, ridgeRefactor, ridgeRelease, ridgeReward, ridgeState, ridgeSums, ridgeTouch } from "./ridge";
export { ridgeProducts, ridgeSample, ridgeScore } from "./ridge-scores";
export { shrunkSolve } from "./shrunk";

/** The natural logarithm, within 0.52 units in the last place. */
export function log(x: f64): f64 {
  return Math.log(x);
}
