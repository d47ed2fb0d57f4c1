// The exports of linear.wasm: those of core.wasm that a linear posterior needs. Their results have the same bits.

export { catalogueCheck, catalogueProducts } from "./catalogue";
export { absorb, digest } from "./digest";
export { drawLists, drawScores, ridgeDraw, ridgeRows } from "./draws";
export { exponential as exp } from "./exponential";
export { allFinite } from "./linalg";
export { logarithm as log } from "./logarithm";
export { allocate, release } from "./memory";
export { normals, uniforms } from "./random";
export { ridgeAppend, ridgeCreate, ridgeEstimate, ridgeRefactor, ridgeRelease, ridgeReward, ridgeState, ridgeSums, ridgeTouch } from "./ridge";
export { ridgeProducts, ridgeSample, ridgeScore } from "./ridge-scores";
export { shrunkSolve } from "./shrunk";
