// The functions of core.wasm by name and type. It must agree with `assembly/index.ts`.

type Pointer = number;
type Status = number;
/** Where draws are written. */
type Draws = [means: Pointer, variances: Pointer, samples: Pointer];

/** Where contenders are written. */
type Contenders = [means: Pointer, variances: Pointer, places: Pointer];

/** A catalogue, a context and its length, the places of k candidates or 0, and k. */
type CatalogueAt = [catalogue: Pointer, context: Pointer, bytes: number, picks: Pointer, k: number];

/** The exports of core.wasm that the SDK calls. `assembly/` documents each. WebAssembly returns pointers as signed numbers. */
export interface CoreExports {
  readonly memory: WebAssembly.Memory;
  allocate(bytes: number): Pointer;
  release(pointer: Pointer): void;
  exp(x: number): number;
  log(x: number): number;
  improvement(u: number): number;
  logImprovement(u: number): number;
  /** 1 if all of `count` doubles are finite. */
  allFinite(values: Pointer, count: number): number;
  squareRoots(values: Pointer, count: number): void;
  absorb(pointer: Pointer, bytes: number, states: Pointer): void;
  digest(pointer: Pointer, bytes: number, out: Pointer): void;
  uniforms(seedLow: number, seedHigh: number, idLow: number, idHigh: number, first: number, count: number, out: Pointer): void;
  normals(seedLow: number, seedHigh: number, idLow: number, idHigh: number, first: number, count: number, out: Pointer): void;
  kernelMatrix(kernel: number, params: Pointer, d: number, xs: Pointer, n: number, ys: Pointer, k: number, out: Pointer): Status;

  ridgeCreate(d: number, ridge: number): Pointer;
  ridgeRelease(h: Pointer): void;
  ridgeAppend(h: Pointer, x: Pointer): Status;
  ridgeReward(h: Pointer, x: Pointer, delta: number): Status;
  ridgeEstimate(h: Pointer, out: Pointer): Status;
  ridgeRefactor(h: Pointer): Status;
  ridgeSetPrior(h: Pointer, prior: Pointer): Status;
  ridgeState(h: Pointer): Pointer;
  ridgeSums(h: Pointer): Pointer;
  ridgeTouch(h: Pointer): void;

  ridgeDraw(h: Pointer, normals: Pointer, m: number): Status;
  ridgeRows(h: Pointer, m: number, centre: Pointer, scale: number, extra: number): Status;
  drawLists(request: Pointer, limit: number, lists: Pointer, families: Pointer, room: Pointer, boosts: Pointer, out: Pointer): Status;
  drawScores(request: Pointer, out: Pointer): Status;
  catalogueCheck(catalogue: Pointer, bytes: number): Status;
  catalogueProducts(...at: [...catalogue: CatalogueAt, table: Pointer, list: Pointer, out: Pointer]): Status;
  ridgeProducts(h: Pointer, xs: Pointer, k: number, parameter: Pointer, scores: Pointer): Status;
  ridgeSample(h: Pointer, normals: Pointer, scale: number, out: Pointer): Status;
  ridgeScore(h: Pointer, xs: Pointer, k: number, means: Pointer, widths: Pointer): Status;

  shrunkSolve(gram: Pointer, d: number, ridge: number, vectors: Pointer, count: number, variances: Pointer): Status;

  gpCreate(d: number, kernel: number, params: Pointer, noiseVariance: number, capacity: number): Pointer;
  gpRelease(h: Pointer): void;
  gpSetKernel(h: Pointer, kernel: number, params: Pointer): Status;
  gpSetNoise(h: Pointer, noiseVariance: number): void;
  gpFind(h: Pointer, x: Pointer): number;
  gpNearest(h: Pointer, x: Pointer, scales: Pointer): number;
  gpAppendGroup(h: Pointer, x: Pointer, count: number): number | Status;
  gpReplicate(h: Pointer, row: number): void;
  gpReward(h: Pointer, row: number, deltaSum: number, deltaSquares: number): Status;
  gpScore(h: Pointer, xs: Pointer, k: number, means: Pointer, variances: Pointer): Status;
  gpMeanError(h: Pointer): number;
  gpContenders(
    h: Pointer,
    xs: Pointer,
    k: number,
    limit: number,
    multiplier: number,
    known: Pointer,
    error: number,
    ...out: Contenders
  ): number | Status;
  gpWatch(h: Pointer, xs: Pointer, k: number): Status;
  gpScoreWatched(h: Pointer, means: Pointer, variances: Pointer): Status;
  gpScoreGroup(h: Pointer, group: number, means: Pointer, variances: Pointer): Status;
  gpWhitened(h: Pointer): Pointer;
  gpMean(h: Pointer, xs: Pointer, k: number, means: Pointer): Status;
  gpCovariance(h: Pointer, xs: Pointer, k: number, means: Pointer, covariance: Pointer): Status;
  gpSample(h: Pointer, xs: Pointer, k: number, normals: Pointer, scale: number, m: number, ...out: Draws): Status;
  gpFactorPrior(h: Pointer, xs: Pointer): Status;
  gpSampleWatched(h: Pointer, places: Pointer, normals: Pointer, scale: number, m: number, ...out: Draws): Status;
  gpLogMarginalLikelihood(h: Pointer): number;
  gpInformationGain(h: Pointer): number;
  gpSize(h: Pointer): number;
  gpClamped(h: Pointer): number;
  gpRefactor(h: Pointer): Status;
  gpResize(h: Pointer, n: number): Status;
  gpTouch(h: Pointer): void;
  gpPoints(h: Pointer): Pointer;
  gpCounts(h: Pointer): Pointer;
  gpSums(h: Pointer): Pointer;
  gpFactor(h: Pointer): Pointer;
  gpSquares(h: Pointer): number;
  gpSetSquares(h: Pointer, squares: number): void;
}
