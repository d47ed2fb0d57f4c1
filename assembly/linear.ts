// The exports of linear.wasm: those of core.wasm that a linear posterior needs. Their results have the same bits.

export { catalogueCheck, catalogueProducts } from "./ridge/catalogue";
export { absorb, digest } from "./digest";
export { drawLists, drawScores, ridgeDraw, ridgeRows } from "./ridge/draws";
export { exponential as exp } from "./numbers/exponential";
export { allFinite } from "./matrix/linalg";
export { logarithm as log } from "./numbers/logarithm";
export { allocate, release } from "./memory";
export { normals, uniforms } from "./numbers/random";
export { ridgeAppend, ridgeCreate, ridgeEstimate, ridgeRefactor, ridgeRelease, ridgeReward, ridgeSetPrior, ridgeState, ridgeSums, ridgeTouch } from "./ridge/ridge";
export { ridgeProducts, ridgeSample, ridgeScore } from "./ridge/ridge-scores";
export { shrunkSolve } from "./ridge/shrunk";
