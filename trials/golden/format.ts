// Finds the cases of a golden file by its shape. This file holds the cases of kernels, posteriors, Vernade et al. and Verma et al.
import { type Candidate, type Policy, type PolicyDescriptor, policies } from "afterclick";
import { type AppendedImpression, type GaussianProcess, gaussianProcess } from "afterclick/research";
import { improvementCases, miniCases } from "./calandriello.ts";
import { type Case, close, equal, type Json, kernelOf, labelled, started } from "./case.ts";
import { delayLinearCases } from "./delay-linear.ts";
import { delayCases } from "./delays.ts";
import { dlppCases, zoomingCases } from "./liu.ts";
import { explorationCases } from "./vakili.ts";

const flat = (points: number[][]): Float64Array => Float64Array.from(points.flat());
const row = (point: number | number[]): number[] => (typeof point === "number" ? [point] : point);

async function posteriorOf(kernel: Json, noiseVariance: number, dimension: number) {
  return gaussianProcess({ dimension, kernel: kernelOf(kernel), noiseVariance, capacity: 1000 });
}

function learn(posterior: GaussianProcess, x: number[], reward: number): void {
  const features = Float64Array.from(x);
  posterior.reward({ features, slot: posterior.append(features) }, reward, 0);
}

function kernelCases({ cases }: Json): Case[] {
  return cases.map(({ kernel, points, K }: Json) => ({
    name: `${kernel.name} lengthscale ${kernel.lengthscale} d=${points[0].length}`,
    async run() {
      // Before any impression the posterior covariance is the kernel.
      const prior = await posteriorOf(kernel, 1, points[0].length);
      const absolute = kernel.name === "linear" ? 1e-13 : 1e-300;
      close("K", prior.covariance(flat(points)), K, absolute, 2e-13);
    },
  }));
}

function posteriorCases({ cases }: Json): Case[] {
  return labelled(cases, async (c) => {
    const posterior = await posteriorOf(c.kernel, c.lam, c.Xs[0].length);
    for (const [i, x] of c.X.entries()) learn(posterior, x, c.y[i]);
    checkPosterior(posterior, c, c.suggested_abs_tol);
    close("cov", posterior.covariance(flat(c.Xs)), c.cov, c.suggested_abs_tol);
    // Log-determinant and likelihood are sums over n rows, so their errors grow with n.
    const scale = c.suggested_abs_tol * (1 + c.X.length);
    close("log marginal likelihood", posterior.logMarginalLikelihood(), c.log_marginal_likelihood, scale, c.suggested_abs_tol);
    close("information gain", posterior.informationGain(), c.information_gain, scale, c.suggested_abs_tol);
    close("logdet", 2 * posterior.informationGain(), c.logdet_I_plus_K_over_lam, 2 * scale, c.suggested_abs_tol);
    // tr K (K + lam I)^-1 is the sum over rows of posterior variance / noise variance.
    const left = c.X.length > 0 ? Array.from(posterior.moments(flat(c.X)).deviation) : [];
    const dimension = left.reduce((sum, deviation) => sum + deviation ** 2 / c.lam, 0);
    close("effective dimension", dimension, c.effective_dimension, scale / Math.min(c.lam, 1));
  });
}

function checkPosterior(posterior: GaussianProcess, expected: Json, tolerance: number, points?: number[][]): void {
  const { mean, deviation } = posterior.moments(flat(points ?? expected.Xs));
  close("mean", mean, expected.mean, tolerance, tolerance);
  const variance = deviation.map((each) => each * each);
  close("var", variance, expected.var, tolerance, tolerance);
}

function incrementalCases({ cases }: Json): Case[] {
  return labelled(cases, async (c) => {
    const posterior = await posteriorOf(c.kernel, c.lam, c.Xs[0].length);
    for (const step of c.steps) {
      if (step.n > 0) learn(posterior, c.X[step.n - 1], c.y[step.n - 1]);
      checkPosterior(posterior, step, c.suggested_abs_tol, c.Xs);
      close("logdet", 2 * posterior.informationGain(), step.logdet_I_plus_K_over_lam, c.suggested_abs_tol, c.suggested_abs_tol);
      if (step.log_marginal_likelihood === null) continue;
      close("likelihood", posterior.logMarginalLikelihood(), step.log_marginal_likelihood, 10 * c.suggested_abs_tol, c.suggested_abs_tol);
    }
  });
}

function replicatedCases({ cases }: Json): Case[] {
  return labelled(cases, async (c) => {
    const posterior = await posteriorOf(c.kernel, c.lam, c.Xs[0].length);
    c.X_unique.forEach((x: number[], i: number) => {
      for (let count = 0; count < c.counts[i]; count++) learn(posterior, x, c.y[i][count]);
    });
    equal("unique points", posterior.size, c.X_unique.length);
    checkPosterior(posterior, { ...c, mean: c.expanded_mean, var: c.expanded_var }, c.suggested_abs_tol);
    close("expanded logdet", 2 * posterior.informationGain(), c.expanded_logdet, 10 * c.suggested_abs_tol);
    const sums = c.y.map((feedback: number[]) => feedback.reduce((sum, each) => sum + each, 0));
    close("sums of feedback", sums, c.y_sum, 1e-12);
    checkPosterior(posterior, c, c.suggested_abs_tol);
    close("cov", posterior.covariance(flat(c.Xs)), c.cov, c.suggested_abs_tol);
    close("logdet", 2 * posterior.informationGain(), c.logdet_I_plus_WKW_over_lam, 10 * c.suggested_abs_tol);
    close("likelihood", posterior.logMarginalLikelihood(), c.expanded_log_marginal_likelihood, 0, c.suggested_abs_tol);
  });
}

async function running(id: string, options: object, rounds: number): Promise<Policy | undefined> {
  const factory = policies.find((each) => each.id === id) as ((options: object) => PolicyDescriptor) | undefined;
  if (!factory) return undefined;
  return started(factory(options), { rounds });
}

/** Returns a function of round t that lists the rounds whose feedback is new to round t. */
function feedback(delays: number[], window: number, offset: 0 | 1): (t: number) => number[] {
  const rounds = delays.map((delay, i) => ({ s: i + 1, first: i + 1 + Math.max(delay + 1 - offset, 1), counts: delay <= window }));
  return (t) => rounds.filter(({ first, counts }) => counts && first === t).map(({ s }) => s);
}

function otfCases(file: Json): Case[] {
  const { d, K, T, m, lam, delta, actions, X, D, z, f_values: bounds, results } = file;
  const cases: Case[] = results.map((result: Json) => ({
    name: result.algorithm,
    async run() {
      const factor = Number(/times ([\d.]+)/.exec(result.algorithm)?.[1] ?? 1);
      const width = result.algorithm.includes("released") ? "released" : "theory";
      const norms = result.algorithm.includes("exact") ? "exact" : "buffered";
      const id = result.algorithm.startsWith("OTFLinTS") ? "otf-lin-ts" : "otf-lin-ucb";
      checkRounds(result.state, 1, T);
      const policy = (await running(id, { dimension: d, ridge: lam, delta, exploration: factor, width, norms }, m)) as Policy;
      const arrivals = feedback(D, m, 0);
      const played: AppendedImpression[] = [];
      let gap = Number.POSITIVE_INFINITY;
      for (let t = 1; t <= T; t++) {
        for (const s of arrivals(t)) {
          const reward = X[s - 1][result.choices[s - 1]];
          if (reward) policy.observe({ impression: played[s - 1], reward });
        }
        const candidates: Candidate[] = actions[t - 1].map((features: number[]) => ({ features }));
        equal("candidates", candidates.length, K);
        const [choice, second] = policy.choose({ candidates, round: t, normals: z[t - 1], limit: 2 });
        gap = Math.min(gap, choice.score - second.score);
        equal(`choice of round ${t}`, choice.index, result.choices[t - 1]);
        const features = actions[t - 1][choice.index];
        const state = result.state.find((each: Json) => each.t === t);
        if (state) checkOtf(policy, state, { ...choice, features, d, factor, released: width === "released" });
        played.push(policy.append({ round: t, features }));
      }
      close("smallest gap between the best score and the second", gap, result.min_gap, 1e-9);
    },
  }));
  return [...cases, ...bounds.map(boundCase)];
}

/** Compares the state behind a choice: the estimate as predictions at the axes, the multiplier as bonus over norm. */
function checkOtf(policy: Policy, state: Json, { score, width, features, d, factor, released }: Json): void {
  const axes = Array.from({ length: d }, (_, i) => Array.from({ length: d }, (_, j) => Number(i === j)));
  close(`theta of round ${state.t}`, policy.predict(axes).mean, state.theta, 1e-10, 1e-9);
  close(`score of round ${state.t}`, score, state.best_score, 1e-10, 1e-9);
  const variance = policy.predict([features]).variance[0];
  if (policy.id === "otf-lin-ts") close(`beta of round ${state.t}`, width ** 2 / variance, state.beta, 1e-9, 1e-9);
  else if (released) close(`width of round ${state.t}`, width / variance, state.width, 1e-9, 1e-9);
  else close(`alpha of round ${state.t}`, width / Math.sqrt(variance) / factor, state.alpha, 1e-9, 1e-9);
}

function boundCase({ t, d, lam, delta, f }: Json): Case {
  return {
    name: `f at t=${t} d=${d}`,
    async run() {
      const policy = (await running("otf-lin-ucb", { dimension: d, ridge: lam, delta, width: "theory" }, 1)) as Policy;
      // Impressions of zero features count as rounds and change nothing else.
      for (let s = 1; s < t; s++) policy.append({ round: s, features: new Float64Array(d) });
      const features = new Float64Array(d).fill(1);
      const [{ width }] = policy.choose({ candidates: [{ features }], round: t });
      close("f", width / (2 * Math.sqrt(policy.predict([features]).variance[0])), f, 0, 1e-12);
    },
  };
}

/** Throws if a state belongs to a round that is not played, or if a round has two states. Such states would never be compared. */
function checkRounds(states: Json[] | undefined, first: number, last: number): void {
  for (const { t } of states ?? []) {
    if (t < first || t > last || states?.filter((other) => other.t === t).length !== 1)
      throw new Error(`expected one state per round ${first} to ${last}, got another of round ${t}`);
  }
}

/** Policies whose name in a file is not their id in capitals. */
const SDF_IDS: Record<string, string> = { sdf: "gp-ucb-sdf", ignore: "gp-ucb", halluc: "gp-bucb" };

function sdfCases(file: Json): Case[] {
  const { kernel, lam, beta = 1, By = 1, eps, delays, z, first } = file;
  // One context per query, or one context without features. The reward of a candidate is g[context][candidate].
  const { contexts = [[]], context_order: order = delays.map(() => 0), g = [file.f] } = file;
  const points = (context: number): number[][] =>
    (file.candidates ?? file.actions).map((each: number | number[]) => [...contexts[context], ...row(each)]);

  return file.results.map((result: Json) => ({
    name: `${result.method}${result.m ? ` m=${result.m}` : ""}`,
    async run() {
      const window = result.m ?? file.m ?? 6;
      const dimension = points(0)[0].length;
      const options = { dimension, kernel: kernelOf(kernel), noiseVariance: lam };
      const id = SDF_IDS[result.method] ?? result.method.toLowerCase();
      const policy = await running(id, id.endsWith("sdf") ? { ...options, beta, rewardBound: By } : options, window);
      if (!policy) return "skipped";
      checkRounds(result.posterior_before_choice, 2, delays.length);
      checkRounds(result.samples, 2, delays.length);
      const arrivals = feedback(delays, id.endsWith("sdf") ? window : Number.POSITIVE_INFINITY, 1);
      const played: AppendedImpression[] = [];
      let gap = Number.POSITIVE_INFINITY;
      for (let t = 1; t <= delays.length; t++) {
        for (const s of arrivals(t)) {
          policy.observe({ impression: played[s - 1], reward: g[order[s - 1]][result.choices[s - 1]] + eps[s - 1] });
        }
        const candidates = points(order[t - 1]).map((features) => ({ features }));
        if (t > 1) gap = Math.min(gap, checkSdf(policy, result, candidates, t, z?.[t - 1]));
        const { features } = candidates[t === 1 ? first : result.choices[t - 1]];
        played.push(policy.append({ round: t, features }));
      }
      equal("first choice", result.choices[0], first);
      close("smallest gap between the best score and the second", gap, result.min_gap, 1e-7);
    },
  }));
}

/** Compares a round with the file. Returns the gap between the best score and the second. */
function checkSdf(policy: Policy, result: Json, candidates: { features: number[] }[], t: number, normals?: number[]): number {
  const ranking = policy.choose({ candidates, round: t, limit: candidates.length, normals });
  equal(`choice of round ${t}`, ranking[0].index, result.choices[t - 1]);
  const { mean, variance } = policy.predict(candidates.map(({ features }) => features));
  const [top] = ranking;
  close(`nu of round ${t}`, top.width / Math.sqrt(variance[top.index]), result.nu[t - 2], 1e-9, 1e-9);
  const posterior = result.posterior_before_choice?.find((each: Json) => each.t === t);
  if (posterior) {
    close(`mean of round ${t}`, mean, posterior.mean, 1e-9, 1e-9);
    close(`var of round ${t}`, variance, posterior.var, 1e-9, 1e-9);
  }
  const sample = result.samples?.find((each: Json) => each.t === t);
  const scores = ranking.toSorted((a, b) => a.index - b.index).map(({ score }) => score);
  if (sample) close(`sample of round ${t}`, scores, sample.f, 1e-7, 1e-7);
  return top.score - ranking[1].score;
}

/** The cases of a file, by its shape. */
export function casesOf(file: Json): Case[] {
  const sample = file.cases?.[0];
  if (sample?.K && sample.points) return kernelCases(file);
  if (sample?.X_unique) return replicatedCases(file);
  if (sample?.steps) return incrementalCases(file);
  if (sample?.Xs) return posteriorCases(file);
  if (file.f_values && file.actions) return otfCases(file);
  if (file.results?.[0]?.method) return sdfCases(file);
  if (file.ei) return improvementCases(file);
  if (file.geometric) return delayCases(file);
  if (file.delay_linear) return delayLinearCases(file);
  if (file.run && file.lengths) return explorationCases(file);
  if (file.results?.[0]?.batches) return miniCases(file);
  if (sample?.grid_points_per_axis) return zoomingCases(file);
  if (sample?.ball_per_round) return dlppCases(file);
  throw new Error("expected a known golden format; trials/golden/format.ts lists them");
}
