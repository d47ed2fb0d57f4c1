import { expect, it } from "vitest";
import { LINEAR, MATERN32, SQUARED_EXPONENTIAL } from "../../../assembly/abi.ts";
import type { Core, KernelSpec } from "../../../src/core/core.ts";
import { CoreProcess } from "../../../src/core/core-process.ts";
import { encoder } from "../../../src/encoding/encoder.ts";
import { freshCore, stageOf } from "../../support/core.ts";

// Repeated operations need no more memory than a few: every call frees what it allocates.

const values = (count: number): Float64Array => Float64Array.from({ length: count }, (_, i) => ((7 * i) % 13) / 13);
const spec = (kernel: number, d: number, variance = 1): KernelSpec => ({
  kernel,
  variance,
  bias: 0.5,
  lengthscale: new Float64Array(d).fill(1),
});
const WIDE = 3000;

function process(core: Core, d = 1, rows = 60) {
  const handle = new CoreProcess(core, spec(MATERN32, d), 0.25, 4);
  for (let i = 0; i < rows; i++) handle.append(new Float64Array(d).fill(i / 8));
  return handle;
}

const calls: Record<string, (core: Core) => () => void> = {
  "a kernel matrix": (core) => () => void core.kernelMatrix(spec(LINEAR, 40), values(2000), values(2000)),
  "a wide kernel's matrix": (core) => () => void core.kernelMatrix(spec(LINEAR, WIDE), values(WIDE), values(WIDE)),
  "candidates that may be chosen": (core) => {
    const handle = process(core);
    let round = 0;
    return () => void handle.contenders(values(1 + (round++ % 70)), 1 + (round % 7), 1);
  },
  "a ridge posterior that comes and goes": (core) => () => core.ridgeRelease(core.ridgeCreate(60, 1)),
  "a ridge posterior with draws and scores that comes and goes": (core) => () => {
    const handle = core.ridgeCreate(8, 1);
    core.draws.draw(handle, values(8 * 300));
    core.draws.rows(handle, 16, 1, 0);
    core.draws.scores([stageOf(handle)], { count: 100, points: values(8 * 100) }, 32);
    core.ridgeRelease(handle);
  },
  "draws of a ridge posterior": (core) => {
    const handle = core.ridgeCreate(16, 1);
    return () => core.draws.draw(handle, values(16 * 200));
  },
  "rows of fewer and more draws": (core) => {
    const handle = core.ridgeCreate(16, 1);
    core.draws.draw(handle, values(16 * 200));
    let round = 0;
    return () => core.draws.rows(handle, 1 + (round++ % 70) * 2, 1, round % 5);
  },
  "rows that cannot be made": (core) => {
    const handle = core.ridgeCreate(16, 1);
    core.draws.draw(handle, values(16 * 200));
    return () => expect(() => core.draws.rows(handle, 200, Number.POSITIVE_INFINITY, 0)).toThrow();
  },
  "scores and lists of fewer and more candidates": (core) => {
    const handle = core.ridgeCreate(2, 1);
    core.draws.draw(handle, values(2 * 64));
    core.draws.rows(handle, 64, 1, 0);
    let round = 0;
    return () => {
      const count = 1 + (round++ % 70);
      const candidates = { count, points: values(2 * count) };
      core.draws.scores([stageOf(handle)], candidates, 128);
      core.draws.lists([stageOf(handle)], candidates, 128, count);
    };
  },
  "200 catalogues, one after another": (core) => {
    const { among } = encoder({ dimension: 16, interactions: "all" });
    const encoded = Array.from({ length: 200 }, (_, n) => {
      const actions = Array.from({ length: 1 + ((n * 7) % 40) }, (__, i) => ({ id: `sku-${i}`, brand: `brand-${i % 3}` }));
      return among(actions)({ country: "PT", device: `device-${n % 2}` });
    });
    const handle = core.ridgeCreate(16, 1);
    core.draws.draw(handle, values(16 * 51));
    core.draws.rows(handle, 51, 1, 20);
    let round = 0;
    return () => {
      const actions = encoded[round++ % 200];
      core.draws.lists([stageOf(handle)], actions, 102, 1);
      core.draws.scores([stageOf(handle)], actions.pick([0]), 102);
      core.draws.products(actions, values(16));
    };
  },
  "a ridge posterior's factor made anew": (core) => {
    const handle = core.ridgeCreate(60, 1);
    return () => core.ridgeRefactor(handle);
  },
  "a ridge posterior's factor that cannot be made": (core) => {
    const handle = core.ridgeCreate(60, 1);
    const { gram, moment, factor } = core.ridgeState(handle);
    core.ridgeLoad(handle, { gram: gram.slice().fill(Number.NaN), moment: moment.slice(), factor: factor.slice() });
    return () => expect(() => core.ridgeRefactor(handle)).toThrow();
  },
  "a ridge posterior with a prior that comes and goes": (core) => () => {
    const handle = core.ridgeCreate(60, 1);
    core.ridgeSetPrior(handle, values((60 * 61) / 2));
    core.ridgeRelease(handle);
  },
  "a ridge posterior's prior instead of another": (core) => {
    const handle = core.ridgeCreate(60, 1);
    return () => core.ridgeSetPrior(handle, values((60 * 61) / 2));
  },
  "a ridge solved from its sums": (core) => () => void core.shrunkSolve(values((60 * 61) / 2).fill(0), 1, values(60), 1),
  "a ridge that cannot be solved": (core) => () =>
    expect(() => core.shrunkSolve(values((60 * 61) / 2).fill(Number.NaN), 1, values(60), 1)).toThrow(),
  "a Gaussian process that comes and goes": (core) => () => process(core).release(),
  "a Gaussian process of many features that comes and goes": (core) => () => process(core, WIDE, 1).release(),
  "a Gaussian process with watched candidates and a prior that comes and goes": (core) => () => {
    const handle = process(core, 1, 20);
    const xs = values(70).map((_, i) => i / 4);
    handle.watch(xs);
    handle.sampleWatched(xs, new Float64Array(20), values(140), 1, 2);
    handle.release();
  },
  "candidates watched instead of others": (core) => {
    const handle = process(core);
    const xs = values(70).map((_, i) => i / 4);
    return () => {
      handle.watch(xs);
      handle.sampleWatched(xs, new Float64Array(60), values(140), 1, 2);
    };
  },
  "draws at watched candidates": (core) => {
    const handle = process(core, 1, 4);
    const xs = values(500).map((_, i) => i / 4);
    handle.watch(xs.subarray(0, 120));
    return () => void handle.sampleWatched(xs.subarray(0, 120), new Float64Array(4), values(240), 1, 1);
  },
  "another kernel": (core) => {
    const handle = process(core);
    handle.watch(values(70).map((_, i) => i / 4));
    let round = 0;
    return () => {
      handle.setKernel(spec(round++ % 2 === 0 ? SQUARED_EXPONENTIAL : MATERN32, 1));
      handle.sampleWatched(
        values(70).map((_, i) => i / 4),
        new Float64Array(60),
        values(140),
        1,
        2,
      );
    };
  },
  "another kernel of many features": (core) => {
    const handle = process(core, WIDE, 1);
    return () => handle.setKernel(spec(MATERN32, WIDE));
  },
  "a kernel of many features that does not fit": (core) => {
    const handle = process(core, WIDE, 1);
    return () => expect(() => handle.setKernel(spec(MATERN32, WIDE, Number.POSITIVE_INFINITY))).toThrow();
  },
  "a Gaussian process's factor made anew": (core) => {
    const handle = process(core);
    return () => handle.refactor();
  },
  "a covariance and joint draws": (core) => {
    const handle = process(core, 1, 8);
    return () => {
      handle.covariance(values(60));
      handle.sample(values(60), values(60), 1, 2);
    };
  },
  "draws that cannot be made": (core) => {
    const handle = new CoreProcess(core, spec(LINEAR, 1), 0.25, 4);
    const xs = values(60).map((_, i) => i * 1e200);
    handle.watch(xs);
    return () => {
      expect(() => handle.sample(xs, values(60), 1, 1)).toThrow();
      expect(() => handle.sampleWatched(xs, new Float64Array(0), values(120), 1, 1)).toThrow();
    };
  },
};

it.each(Object.entries(calls))("%s", (_, prepare) => {
  const { core } = freshCore();
  const call = prepare(core);
  for (let round = 0; round < 80; round++) call();
  const before = core.memoryBytes;
  // A leak of 2 kB per round would exceed the memory.
  const rounds = Math.ceil(before / 2000);
  for (let round = 0; round < Math.min(rounds, 600); round++) call();
  expect(core.memoryBytes).toBe(before);
});
