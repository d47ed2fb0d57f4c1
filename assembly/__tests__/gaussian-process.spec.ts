import { MATERN32, NOT_POSITIVE_DEFINITE, OK, SQUARED_EXPONENTIAL } from "../abi";
import { gpScoreWatched, gpWatch } from "../gaussian-process/watched";
import { gpInformationGain, gpLogMarginalLikelihood } from "../gaussian-process/evidence";
import {
  GaussianProcess,
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
} from "../gaussian-process/gaussian-process";
import { gpFind, gpNearest } from "../gaussian-process/lookup";
import { gpCovariance, gpMean, gpSample, gpScore } from "../gaussian-process/posterior";
import { distance, get, noise, put, sameBits, vector, zeros } from "./vectors";

const D = 2;
const N = 21;
// Four groups of four candidates, and three more.
const K = 19;
const ENTRIES = (N * (N + 1)) / 2;
const params = vector([1.5, 0, 0.7, 1.1]);
const xs = noise(1, N * D);
const rewards = noise(2, N);
const candidates = noise(3, K * D);

function gpAppend(gp: GaussianProcess, x: usize): i32 {
  return gpAppendGroup(gp, x, 1);
}

function grown(noiseVariance: f64, capacity: usize): GaussianProcess {
  const gp = gpCreate(D, MATERN32, params, noiseVariance, capacity)!;
  for (let i = 0; i < N; i++) {
    gpAppend(gp, xs + i * D * 8);
    gpReward(gp, i, get(rewards, i), get(rewards, i) * get(rewards, i));
  }
  return gp;
}

/** Means, then variances, at the candidates. */
function score(gp: GaussianProcess): usize {
  const out = zeros(2 * K);
  expect<i32>(gpScore(gp, candidates, K, out, out + K * 8)).toBe(OK);
  return out;
}

describe("Gaussian process", () => {
  it("is its prior as long as there are no points", () => {
    const gp = gpCreate(D, MATERN32, params, 0.1, 0)!;
    const out = score(gp);
    for (let c = 0; c < K; c++) {
      expect<f64>(get(out, c)).toBe(0);
      expect<f64>(get(out, K + c)).toBe(1.5);
    }
    expect<f64>(gpLogMarginalLikelihood(gp)).toBe(0);
    expect<f64>(gpInformationGain(gp)).toBe(0);
    expect<i32>(gpFind(gp, xs)).toBe(-1);
    expect<i32>(gpNearest(gp, xs, vector([1, 1]))).toBe(-1);
    gpRelease(gp);
  });

  it("has one point's posterior in closed form", () => {
    const gp = gpCreate(1, SQUARED_EXPONENTIAL, vector([2, 0, 1]), 0.5, 1)!;
    expect<i32>(gpAppend(gp, vector([0]))).toBe(0);
    gpReward(gp, 0, 3, 9);
    const out = zeros(2);
    gpScore(gp, vector([1]), 1, out, out + 8);
    const k = 2 * Math.exp(-0.5);
    expect<f64>(abs(get(out, 0) - (k * 3) / 2.5)).toBeLessThan(1e-15);
    expect<f64>(abs(get(out, 1) - (2 - (k * k) / 2.5))).toBeLessThan(1e-15);
    expect<f64>(abs(gpLogMarginalLikelihood(gp) + 0.5 * (9 / 2.5 + Math.log(2.5) + Math.log(2 * Math.PI)))).toBeLessThan(1e-15);
    expect<f64>(abs(gpInformationGain(gp) - 0.5 * Math.log(5))).toBeLessThan(1e-15);
  });

  it("gives the same bits whether rows were appended or factorised, whatever the capacity", () => {
    const gp = grown(0.1, 1);
    const roomy = grown(0.1, 100);
    expect<bool>(sameBits(gpFactor(gp), gpFactor(roomy), ENTRIES)).toBe(true);
    expect<i32>(gpRefactor(gp)).toBe(OK);
    expect<bool>(sameBits(gpFactor(gp), gpFactor(roomy), ENTRIES)).toBe(true);
    expect<bool>(sameBits(score(gp), score(roomy), 2 * K)).toBe(true);
  });

  it("appends a group as if its evaluations had been appended one by one", () => {
    const grouped = gpCreate(D, MATERN32, params, 0.1, 8)!;
    const expanded = gpCreate(D, MATERN32, params, 0.1, 8)!;
    for (let i = 0; i < N; i++) {
      const y = get(rewards, i);
      gpReward(grouped, gpAppendGroup(grouped, xs + i * D * 8, i + 1), (i + 1) * y, (i + 1) * y * y);
      for (let copy = 0; copy <= i; copy++) gpReward(expanded, gpAppend(expanded, xs + i * D * 8), y, y * y);
    }
    expect<usize>(gpSize(grouped)).toBe(N);
    expect<f64>(distance(score(grouped), score(expanded), 2 * K)).toBeLessThan(1e-11);
    expect<f64>(abs(gpLogMarginalLikelihood(grouped) / gpLogMarginalLikelihood(expanded) - 1)).toBeLessThan(1e-12);
  });

  it("replicates a point as if it had been appended again", () => {
    const gp = gpCreate(D, MATERN32, params, 0.1, 8)!;
    const expanded = gpCreate(D, MATERN32, params, 0.1, 8)!;
    for (let i = 0; i < 3 * N; i++) {
      const row = i % N;
      const y = get(rewards, row) + i;
      if (i < N) gpAppend(gp, xs + row * D * 8);
      else gpReplicate(gp, row);
      gpReward(gp, row, y, y * y);
      gpReward(expanded, gpAppend(expanded, xs + row * D * 8), y, y * y);
    }
    expect<usize>(gpSize(gp)).toBe(N);
    expect<usize>(gpSize(expanded)).toBe(3 * N);
    expect<f64>(distance(score(gp), score(expanded), 2 * K)).toBeLessThan(1e-11);
    expect<f64>(abs(gpInformationGain(gp) / gpInformationGain(expanded) - 1)).toBeLessThan(1e-13);
    expect<f64>(abs(gpLogMarginalLikelihood(gp) / gpLogMarginalLikelihood(expanded) - 1)).toBeLessThan(1e-12);
    const before = zeros(ENTRIES);
    memory.copy(before, gpFactor(gp), ENTRIES << 3);
    gpRefactor(gp);
    expect<f64>(distance(before, gpFactor(gp), ENTRIES)).toBeLessThan(1e-14);
  });

  it("survives thousands of replicates of near duplicates at little noise", () => {
    const gp = gpCreate(1, SQUARED_EXPONENTIAL, vector([1, 0, 0.5]), 1e-8, 4)!;
    const n = 12;
    for (let i = 0; i < n; i++) gpAppend(gp, vector([i * 1e-5]));
    for (let i = 0; i < 3000; i++) gpReplicate(gp, (i * 5) % n);
    const kept = zeros((n * (n + 1)) / 2);
    memory.copy(kept, gpFactor(gp), (n * (n + 1)) << 2);
    const out = zeros(4);
    expect<i32>(gpScore(gp, vector([0, 1e-5]), 2, out, out + 16)).toBe(OK);
    gpRefactor(gp);
    expect<f64>(distance(kept, gpFactor(gp), (n * (n + 1)) / 2)).toBeLessThan(1e-7);
    expect<f64>(get(out, 2)).toBeLessThan(1e-9);
  });

  it("does not depend on the order of rewards where sums are exact, and forgets a retracted one", () => {
    const a = grown(0.1, 4);
    const b = grown(0.1, 4);
    const untouched = score(a);
    gpReward(a, 3, 0.5, 0.25);
    gpReward(a, 3, 2, 4);
    gpReward(b, 3, 2, 4);
    gpReward(b, 3, 0.5, 0.25);
    expect<bool>(sameBits(score(a), score(b), 2 * K)).toBe(true);
    gpReward(a, 3, -2.5, -4.25);
    expect<f64>(distance(score(a), untouched, 2 * K)).toBeLessThan(1e-14);
  });

  it("finds equal points, -0 among them, and the nearest in units of the scales", () => {
    const gp = gpCreate(2, MATERN32, params, 0.1, 2)!;
    gpAppend(gp, vector([0, 1]));
    gpAppend(gp, vector([3, 1]));
    gpAppend(gp, vector([0, 2]));
    expect<i32>(gpFind(gp, vector([-0.0, 2]))).toBe(2);
    expect<i32>(gpFind(gp, vector([0, 3]))).toBe(-1);
    expect<i32>(gpNearest(gp, vector([1.5, 1]), vector([1, 1]))).toBe(0, "ties go to the lowest row");
    expect<i32>(gpNearest(gp, vector([2, 2]), vector([1, 1]))).toBe(1);
    expect<i32>(gpNearest(gp, vector([2, 2]), vector([10, 1]))).toBe(2);
  });

  it("keeps its kernel when the new one fails", () => {
    const gp = grown(0.1, 4);
    const before = score(gp);
    expect<i32>(gpSetKernel(gp, MATERN32, vector([Infinity, 0, 1, 1]))).toBe(NOT_POSITIVE_DEFINITE);
    expect<bool>(sameBits(score(gp), before, 2 * K)).toBe(true);
    expect<i32>(gpSetKernel(gp, SQUARED_EXPONENTIAL, params)).toBe(OK);
    expect<f64>(distance(score(gp), before, 2 * K)).toBeGreaterThan(0.01);
    expect<i32>(gpSetKernel(gp, MATERN32, params)).toBe(OK);
    expect<bool>(sameBits(score(gp), before, 2 * K)).toBe(true);
  });

  it("has with another noise the bits of a process that began with it", () => {
    const gp = grown(0.1, 4);
    gpSetNoise(gp, 0.3);
    expect<i32>(gpSetKernel(gp, MATERN32, params)).toBe(OK);
    const other = grown(0.3, 4);
    expect<i32>(gpRefactor(other)).toBe(OK);
    expect<bool>(sameBits(score(gp), score(other), 2 * K)).toBe(true);
    expect<f64>(gpLogMarginalLikelihood(gp)).toBe(gpLogMarginalLikelihood(other));
  });

  it("goes on with the same bits after a restore", () => {
    const a = grown(0.1, 4);
    gpReplicate(a, 5);
    const b = gpCreate(D, MATERN32, params, 0.1, 1)!;
    expect<i32>(gpResize(b, N)).toBe(OK);
    memory.copy(gpPoints(b), gpPoints(a), (N * D) << 3);
    memory.copy(gpCounts(b), gpCounts(a), N << 3);
    memory.copy(gpSums(b), gpSums(a), N << 3);
    memory.copy(gpFactor(b), gpFactor(a), ENTRIES << 3);
    gpSetSquares(b, gpSquares(a));
    gpTouch(b);
    for (let i = 0; i < 4; i++) {
      expect<bool>(sameBits(score(a), score(b), 2 * K)).toBe(true);
      expect<f64>(gpLogMarginalLikelihood(a)).toBe(gpLogMarginalLikelihood(b));
      gpReplicate(a, i);
      gpReplicate(b, i);
      gpAppend(a, candidates + i * D * 8);
      gpAppend(b, candidates + i * D * 8);
    }
  });
});

describe("posterior", () => {
  it("gives a candidate the same bits in any number and at any place", () => {
    const gp = grown(0.1, 4);
    const all = score(gp);
    const one = zeros(2);
    const means = zeros(K);
    gpMean(gp, candidates, K, means);
    for (let c = 0; c < K; c++) {
      gpScore(gp, candidates + c * D * 8, 1, one, one + 8);
      expect<f64>(get(one, 0)).toBe(get(all, c));
      expect<f64>(get(one, 1)).toBe(get(all, K + c));
      gpMean(gp, candidates + c * D * 8, 1, one);
      expect<f64>(get(one, 0)).toBe(get(means, c));
    }
    expect<f64>(distance(means, all, K)).toBeLessThan(1e-13);
  });

  it("gives watched candidates the bits of the others, whatever happened to the rows", () => {
    const gp = gpCreate(D, MATERN32, params, 0.1, 2)!;
    expect<i32>(gpWatch(gp, candidates, K)).toBe(OK);
    const out = zeros(2 * K);
    for (let step = 0; step < 40; step++) {
      if (step % 3 == 2) gpReplicate(gp, (step * 7) % i32(gpSize(gp)));
      else gpAppend(gp, xs + ((step * 2) / 3) % N * D * 8);
      if (step == 30) gpRefactor(gp);
      if (step == 35) gpSetKernel(gp, SQUARED_EXPONENTIAL, params);
      // Of the newest row, so that what was summed before is kept, or of an early one.
      gpReward(gp, step % 5 == 0 ? 0 : i32(gpSize(gp)) - 1, 0.3, 0.09);
      if (step % 4 == 1) continue;
      expect<i32>(gpScoreWatched(gp, out, out + K * 8)).toBe(OK);
      expect<bool>(sameBits(out, score(gp), 2 * K)).toBe(true);
    }
    gpRelease(gp);
  });

  it("has a symmetric covariance with the variances of the scores, to the bit", () => {
    const gp = grown(0.1, 4);
    const all = score(gp);
    const means = zeros(K);
    const covariance = zeros(K * K);
    expect<i32>(gpCovariance(gp, candidates, K, means, covariance)).toBe(OK);
    expect<bool>(sameBits(means, all, K)).toBe(true);
    for (let i = 0; i < K; i++) {
      expect<f64>(get(covariance, i * K + i)).toBe(get(all, K + i));
      for (let j = 0; j < i; j++) expect<f64>(get(covariance, i * K + j)).toBe(get(covariance, j * K + i));
    }
  });

  it("samples with the covariance it reports: unit vectors as normals give L, and L L^T is it", () => {
    const gp = grown(0.1, 4);
    const means = zeros(K);
    const covariance = zeros(K * K);
    gpCovariance(gp, candidates, K, means, covariance);
    const columns = zeros(K * K);
    const moments = zeros(2 * K);
    for (let j = 0; j < K; j++) {
      const z = zeros(K);
      put(z, j, 1);
      expect<i32>(gpSample(gp, candidates, K, z, 1, 1, moments, moments + K * 8, columns + j * K * 8)).toBe(OK);
    }
    expect<bool>(sameBits(moments, score(gp), 2 * K)).toBe(true);
    for (let i = 0; i < K; i++) {
      for (let j = 0; j < K; j++) {
        let sum: f64 = 0;
        for (let t = 0; t < K; t++) sum += (get(columns, t * K + i) - get(means, i)) * (get(columns, t * K + j) - get(means, j));
        expect<f64>(abs(sum - get(covariance, i * K + j))).toBeLessThan(1e-14);
        if (j > i) expect<f64>(get(columns, j * K + i)).toBe(get(means, i), "L is lower triangular");
      }
    }
  });

  it("gives equal candidates equal samples, and never NaN", () => {
    const gp = grown(1e-6, 4);
    const repeated = zeros(3 * K * D);
    for (let i = 0; i < 3; i++) memory.copy(repeated + i * K * D * 8, i == 2 ? xs : candidates, (K * D) << 3);
    const out = zeros(9 * K);
    expect<i32>(gpSample(gp, repeated, 3 * K, noise(4, 3 * K), 1, 1, out, out + 24 * K, out + 48 * K)).toBe(OK);
    expect<bool>(sameBits(out + 48 * K, out + 56 * K, K)).toBe(true);
  });

  it("draws many samples at once with the bits of one, each followed by its opposite, equal candidates equal", () => {
    const gp = grown(0.1, 4);
    const repeated = zeros(2 * K * D);
    for (let i = 0; i < 2; i++) memory.copy(repeated + i * K * D * 8, candidates, (K * D) << 3);
    const z = noise(5, 6 * K);
    const k = 2 * K;
    const moments = zeros(2 * k);
    const samples = zeros(5 * k);
    const alone = zeros(k);
    expect<i32>(gpSample(gp, repeated, k, z, 0.5, 5, moments, moments + k * 8, samples)).toBe(OK);
    for (let s = 0; s < 5; s++) {
      gpSample(gp, repeated, k, z + (s >> 1) * k * 8, s & 1 ? -0.5 : 0.5, 1, moments, moments + k * 8, alone);
      expect<bool>(sameBits(samples + s * k * 8, alone, k)).toBe(true);
      expect<bool>(sameBits(alone, alone + K * 8, K)).toBe(true);
    }
  });

  it("never has a negative variance", () => {
    const gp = gpCreate(1, SQUARED_EXPONENTIAL, vector([1, 0, 3]), 1e-18, 4)!;
    const n = 40;
    const points = zeros(n);
    for (let i = 0; i < n; i++) put(points, i, i / 10.0);
    for (let i = 0; i < n; i++) gpAppend(gp, points + i * 8);
    const out = zeros(2 * n);
    expect<i32>(gpScore(gp, points, n, out, out + n * 8)).toBe(OK);
    for (let i = 0; i < n; i++) expect<bool>(get(out, n + i) >= 0).toBe(true);
    expect<usize>(gpClamped(gp)).toBeGreaterThan(0, "rounding makes pivots of this matrix negative");
  });
});
