import { NOT_FINITE, OK } from "../abi";
import { drawLists, drawScores, ridgeDraw, ridgeRows } from "../ridge/draws";
import {
  Ridge,
  ridgeAppend,
  ridgeCreate,
  ridgeEstimate,
  ridgeRefactor,
  ridgeRelease,
  ridgeReward,
  ridgeSetPrior,
  ridgeState,
  ridgeTouch,
} from "../ridge/ridge";
import { ridgeProducts, ridgeSample, ridgeScore } from "../ridge/ridge-scores";
import { distance, get, lower, noise, put, sameBits, vector, zeros } from "./vectors";

const D = 7;
const ENTRIES = (D * (D + 1)) / 2;
const STATE = 2 * ENTRIES + D;
const RIDGE = 0.5;
const xs = noise(1, 40 * D);
const rewards = noise(2, 40);
const candidates = noise(3, 10 * D);

/** Learns from the 40 impressions, backwards if asked. */
function learnt(backwards: bool): Ridge {
  const model = ridgeCreate(D, RIDGE)!;
  for (let i = 0; i < 40; i++) {
    const row = backwards ? 39 - i : i;
    ridgeAppend(model, xs + row * D * 8);
    ridgeReward(model, xs + row * D * 8, get(rewards, row));
  }
  return model;
}

function gram(model: Ridge, i: i32, j: i32): f64 {
  const state = ridgeState(model);
  return (i == j ? RIDGE : 0) + (j > i ? lower(state, j, i) : lower(state, i, j));
}

/** A request for samples of one posterior about theta, after `ridgeRows`. */
function requestFor(model: Ridge, xs: usize, k: usize, samples: usize): usize {
  const stage = zeros(3);
  store<usize>(stage, changetype<usize>(model));
  store<i32>(stage, -1, 4);
  store<f32>(stage, 1, 12);
  const request = zeros(6);
  store<usize>(request, stage);
  store<usize>(request, 1, 4);
  store<usize>(request, samples, 8);
  store<usize>(request, k, 12);
  store<usize>(request, xs, 16);
  store<usize>(request, zeros(D), 36);
  store<usize>(request, zeros(26), 40);
  store<usize>(request, zeros(52), 44);
  return request;
}

// A request is a class of the module. As a pointer it is the same.
const scoresAt = changetype<(request: usize, out: usize) => i32>(drawScores);
const listsAt = changetype<(request: usize, limit: usize, lists: usize, families: usize, room: usize, boosts: usize, out: usize) => i32>(drawLists);

/** Writes the scores of samples: samples x k. */
function scoresOf(model: Ridge, xs: usize, k: usize, samples: usize, out: usize): i32 {
  return scoresAt(requestFor(model, xs, k, samples), out);
}

/** Expects the lists of samples to take at each place the best candidate left of which the family, if there are any, has room. */
function expectBest(model: Ridge, xs: usize, k: i32, samples: i32, limit: i32, families: usize, room: usize, boosts: usize = 0): void {
  const scores = zeros(samples * k);
  const lists = zeros((((samples + 101) / 102) * limit * 832) / 8);
  const out = zeros((samples * limit + 1) / 2);
  expect<i32>(scoresOf(model, xs, k, samples, scores)).toBe(OK);
  for (let s = 0; boosts && s < samples * k; s++) put(scores, s, <f64>(<f32>get(scores, s) + load<f32>(boosts + ((s % k) << 2))));
  expect<i32>(listsAt(requestFor(model, xs, k, samples), limit, lists, families, room, boosts, out)).toBe(OK);
  for (let s = 0; s < samples; s++) {
    const used = zeros(k);
    const chosen = zeros(k);
    for (let place = 0; place < limit; place++) {
      let best = -1;
      for (let c = 0; c < k; c++) {
        const family = families ? load<i32>(families + (c << 2)) : -1;
        if (get(chosen, c) != 0 || (family >= 0 && get(used, family) == load<i32>(room + (family << 2)))) continue;
        if (best < 0 || get(scores, s * k + c) > get(scores, s * k + best)) best = c;
      }
      expect<i32>(load<i32>(out + ((s * limit + place) << 2))).toBe(best);
      if (best < 0) continue;
      put(chosen, best, 1);
      const family = families ? load<i32>(families + (best << 2)) : -1;
      if (family >= 0) put(used, family, get(used, family) + 1);
    }
  }
}

describe("ridge", () => {
  it("estimates what solves V theta = moment", () => {
    const model = learnt(false);
    const theta = zeros(D);
    expect<i32>(ridgeEstimate(model, theta)).toBe(OK);
    for (let i = 0; i < D; i++) {
      let residual = -get(ridgeState(model), ENTRIES + i);
      for (let j = 0; j < D; j++) residual += gram(model, i, j) * get(theta, j);
      expect<f64>(abs(residual)).toBeLessThan(1e-13);
    }
  });

  it("scores with the mean <x, theta> and a width w whose direction V^-1 x has <x, V^-1 x> = w^2", () => {
    const model = learnt(false);
    const theta = zeros(D);
    const means = zeros(10);
    const widths = zeros(10);
    ridgeEstimate(model, theta);
    ridgeScore(model, candidates, 10, means, widths);
    const probe = ridgeCreate(D, RIDGE)!;
    memory.copy(ridgeState(probe), ridgeState(model), STATE << 3);
    const direction = zeros(D);
    for (let c = 0; c < 10; c++) {
      // With x as the moment, the estimate is V^-1 x.
      memory.copy(ridgeState(probe) + (ENTRIES << 3), candidates + c * D * 8, D << 3);
      ridgeTouch(probe);
      ridgeEstimate(probe, direction);
      let mean: f64 = 0;
      let square: f64 = 0;
      for (let j = 0; j < D; j++) {
        mean += get(candidates, c * D + j) * get(theta, j);
        square += get(candidates, c * D + j) * get(direction, j);
      }
      expect<f64>(abs(get(means, c) - mean)).toBeLessThan(1e-14);
      expect<f64>(abs(get(widths, c) - sqrt(square))).toBeLessThan(1e-14);
    }
  });

  it("gives a candidate the same bits in any number and at any place", () => {
    const model = learnt(false);
    const means = zeros(10);
    const widths = zeros(10);
    const one = zeros(2);
    ridgeScore(model, candidates, 10, means, widths);
    for (let c = 0; c < 10; c++) {
      ridgeScore(model, candidates + c * D * 8, 1, one, one + 8);
      expect<f64>(get(one, 0)).toBe(get(means, c));
      expect<f64>(get(one, 1)).toBe(get(widths, c));
    }
  });

  it("agrees with its canonical factor, and stays where it is when refactored twice", () => {
    const model = learnt(false);
    const before = zeros(STATE);
    memory.copy(before, ridgeState(model), STATE << 3);
    expect<i32>(ridgeRefactor(model)).toBe(OK);
    expect<f64>(distance(before, ridgeState(model), STATE)).toBeLessThan(1e-13);
    memory.copy(before, ridgeState(model), STATE << 3);
    ridgeRefactor(model);
    expect<bool>(sameBits(before, ridgeState(model), STATE)).toBe(true);
  });

  it("has the precision of its prior in its factor, from the next refactoring on", () => {
    const model = learnt(false);
    const before = zeros(STATE);
    memory.copy(before, ridgeState(model), STATE << 3);
    const prior = zeros(ENTRIES);
    for (let i = 0; i < D; i++) {
      for (let j = 0; j <= i; j++) put(prior, (i * (i + 1)) / 2 + j, i == j ? 2 + <f64>i : 0.125);
    }
    expect<i32>(ridgeSetPrior(model, prior)).toBe(OK);
    expect<bool>(sameBits(before, ridgeState(model), STATE)).toBe(true);
    expect<i32>(ridgeRefactor(model)).toBe(OK);
    const state = ridgeState(model);
    expect<bool>(sameBits(before, state, ENTRIES + D)).toBe(true);
    const factor = state + ((ENTRIES + D) << 3);
    for (let i = 0; i < D; i++) {
      for (let j = 0; j <= i; j++) {
        let sum: f64 = 0;
        for (let k = 0; k <= j; k++) sum += lower(factor, i, k) * lower(factor, j, k);
        expect<f64>(abs(sum - lower(prior, i, j) - lower(state, i, j))).toBeLessThan(1e-12);
      }
    }
    ridgeRelease(model);
  });

  it("does not depend on the order of impressions, to the bit where sums are exact", () => {
    const a = learnt(false);
    const b = learnt(true);
    expect<f64>(distance(ridgeState(a), ridgeState(b), STATE)).toBeLessThan(1e-13);
    const forwards = ridgeCreate(D, RIDGE)!;
    const backwards = ridgeCreate(D, RIDGE)!;
    const dyadic = zeros(40 * D);
    for (let i = 0; i < 40 * D; i++) put(dyadic, i, nearest(get(xs, i) * 4096) / 4096);
    for (let i = 0; i < 40; i++) {
      ridgeAppend(forwards, dyadic + i * D * 8);
      ridgeReward(forwards, dyadic + i * D * 8, 0.75);
      ridgeAppend(backwards, dyadic + (39 - i) * D * 8);
      ridgeReward(backwards, dyadic + (39 - i) * D * 8, 0.75);
    }
    expect<bool>(sameBits(ridgeState(forwards), ridgeState(backwards), ENTRIES + D)).toBe(true);
    ridgeRefactor(forwards);
    ridgeRefactor(backwards);
    expect<bool>(sameBits(ridgeState(forwards), ridgeState(backwards), STATE)).toBe(true);
  });

  it("goes on with the same bits after a restore", () => {
    const a = learnt(false);
    const b = ridgeCreate(D, RIDGE)!;
    memory.copy(ridgeState(b), ridgeState(a), STATE << 3);
    ridgeTouch(b);
    const one = zeros(20);
    const other = zeros(20);
    for (let i = 0; i < 5; i++) {
      ridgeScore(a, candidates, 10, one, one + 80);
      ridgeScore(b, candidates, 10, other, other + 80);
      expect<bool>(sameBits(one, other, 20)).toBe(true);
      ridgeAppend(a, candidates + i * D * 8);
      ridgeAppend(b, candidates + i * D * 8);
    }
  });

  it("samples theta itself at scale 0, and with L^T (sample - theta) = scale z", () => {
    const model = learnt(false);
    const theta = zeros(D);
    const sample = zeros(D);
    const z = noise(4, D);
    ridgeEstimate(model, theta);
    ridgeSample(model, z, 0, sample);
    expect<bool>(sameBits(theta, sample, D)).toBe(true);
    ridgeSample(model, z, 2, sample);
    const factor = ridgeState(model) + ((ENTRIES + D) << 3);
    for (let j = 0; j < D; j++) {
      let sum: f64 = 0;
      for (let i = j; i < D; i++) sum += lower(factor, i, j) * (get(sample, i) - get(theta, i));
      expect<f64>(abs(sum - 2 * get(z, j))).toBeLessThan(1e-13);
    }
  });

  it("gives products with theta the bits of the means", () => {
    const model = learnt(false);
    const theta = zeros(D);
    const moments = zeros(20);
    const products = zeros(10);
    ridgeEstimate(model, theta);
    ridgeScore(model, candidates, 10, moments, moments + 80);
    expect<i32>(ridgeProducts(model, candidates, 10, theta, products)).toBe(OK);
    expect<bool>(sameBits(moments, products, 10)).toBe(true);
  });

  it("scores kept draws as the samples that they are, each followed by its opposite", () => {
    const model = learnt(false);
    const z = noise(6, 6 * D);
    const samples = 11;
    const k = 10;
    const scores = zeros(samples * k);
    const one = zeros(samples);
    const parameter = zeros(D);
    const expected = zeros(k);
    expect<i32>(ridgeDraw(model, z, 6)).toBe(OK);
    expect<i32>(ridgeRows(model, 6, 0, 0.5, 0)).toBe(OK);
    expect<i32>(scoresOf(model, candidates, k, samples, scores)).toBe(OK);
    for (let s = 0; s < samples; s++) {
      ridgeSample(model, z + (s >> 1) * D * 8, s & 1 ? -0.5 : 0.5, parameter);
      ridgeProducts(model, candidates, k, parameter, expected);
      expect<f64>(distance(scores + s * k * 8, expected, k)).toBeLessThan(1e-5);
    }
    // A candidate alone has the same bits.
    for (let c = 0; c < k; c++) {
      scoresOf(model, candidates + c * D * 8, 1, samples, one);
      for (let s = 0; s < samples; s++) expect<f64>(get(one, s)).toBe(get(scores, s * k + c));
    }
    ridgeRelease(model);
  });

  it("lists the best candidates of each draw, of equal scores the first one first", () => {
    const model = learnt(false);
    const samples = 111;
    // The last two are the same.
    const k = 5;
    const xs = zeros(k * D);
    memory.copy(xs, candidates, 4 * D << 3);
    memory.copy(xs + 4 * D * 8, candidates + 3 * D * 8, D << 3);
    ridgeDraw(model, noise(6, 56 * D), 56);
    ridgeRows(model, 56, 0, 0.5, 2);
    for (let limit = 1; limit <= k; limit++) expectBest(model, xs, k, samples, limit, 0, 0);
    ridgeRelease(model);
  });

  it("lists no more of a family than it has room for", () => {
    const model = learnt(false);
    const k = 10;
    const families = zeros(k / 2);
    // Two families, and a candidate without one.
    for (let c = 0; c < k; c++) store<i32>(families + (c << 2), c == 7 ? -1 : c & 1);
    const room = zeros(1);
    store<i32>(room, 1);
    store<i32>(room, 2, 4);
    ridgeDraw(model, noise(6, 5 * D), 5);
    ridgeRows(model, 5, 0, 0.5, 0);
    for (let limit = 1; limit <= k; limit++) expectBest(model, candidates, k, 9, limit, families, room);
  });

  it("adds the boost of each candidate to its scores in every draw", () => {
    const model = learnt(false);
    const k = 10;
    const samples = 111;
    const boosts = zeros(k / 2);
    for (let c = 0; c < k; c++) store<f32>(boosts + (c << 2), <f32>(((c * 7) % k) * 0.1 - 0.5));
    ridgeDraw(model, noise(6, 56 * D), 56);
    ridgeRows(model, 56, 0, 0.5, 0);
    for (let limit = 1; limit <= k; limit++) expectBest(model, candidates, k, samples, limit, 0, 0, boosts);
    ridgeRelease(model);
  });

  it("refuses what would overflow, and has changed nothing", () => {
    const model = learnt(false);
    const before = zeros(STATE);
    memory.copy(before, ridgeState(model), STATE << 3);
    const huge = zeros(D);
    put(huge, 3, 1e200);
    expect<i32>(ridgeAppend(model, huge)).toBe(NOT_FINITE);
    expect<i32>(ridgeReward(model, huge, 1e200)).toBe(NOT_FINITE);
    expect<bool>(sameBits(before, ridgeState(model), STATE)).toBe(true);
  });
});
