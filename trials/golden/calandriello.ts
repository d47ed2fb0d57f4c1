// Golden cases of Calandriello et al. 2022: expected improvement, and the batches of MINI-GP-UCB and MINI-GP-EI.
import { miniGpEi, miniGpUcb, type Policy } from "afterclick";
import { type AppendedImpression, type Choice, expectedImprovement } from "afterclick/research";
import { type Case, close, equal, type Json, kernelOf, started } from "./case.ts";

export function improvementCases({ h, ei, ei_scaled: scaled }: Json): Case[] {
  return [
    ...h.map(({ u, h: expected, log_h: log }: Json) => ({
      name: `h(${u})`,
      async run() {
        const improvement = await expectedImprovement();
        const request = { mean: u, deviation: 1, best: 0 };
        close("h", improvement.value(request), expected, 0, 1e-10);
        close("log h", improvement.log(request), log, 1e-15, 1e-12);
      },
    })),
    ...ei.map(({ mean, sd, best, ei: expected }: Json) => ({
      name: `improvement of N(${mean}, ${sd}^2) on ${best}`,
      async run() {
        close("ei", (await expectedImprovement()).value({ mean, deviation: sd, best }), expected, 0, 1e-10);
      },
    })),
    ...scaled.map(({ mean, sd, best, beta, value, log_value: log }: Json) => ({
      name: `improvement of N(${mean}, (${beta} ${sd})^2) on ${best}`,
      async run() {
        const improvement = await expectedImprovement();
        const request = { mean, deviation: sd, best, beta };
        close("value", improvement.value(request), value, 0, 1e-10);
        close("log value", improvement.log(request), log, 0, 1e-12);
      },
    })),
  ];
}

interface Batch {
  readonly index: number;
  /** First choice of the batch. */
  readonly first: Choice;
  length: number;
  feedback: number;
}

export function miniCases(file: Json): Case[] {
  return file.results.map((result: Json) => ({
    name: `${result.acquisition} ${result.beta_kind} C=${result.sequential ? "1 (sequential)" : result.C} ${result.rule}`,
    async run() {
      const { batches, last } = await play(file, result);
      equal("length of the last batch, uncut", last, result.B_untruncated_last);
      equal("batches", batches.map(({ index, length }) => [index, length]).join(" "), batchList(result.batches));
      equal("unique candidates", new Set(batches.map(({ index }) => index)).size, result.unique);
      equal("switches", batches.length, result.switches);
      const { mean_at_choice: mean, var_at_choice: variance, beta, feedback_sum: feedback } = result;
      const means = batches.map(({ first }) => first.mean);
      close("mean", means, mean, 1e-9, 1e-9);
      const widths = beta.map((each: number, h: number) => each * Math.sqrt(variance[h]));
      const ownWidths = batches.map(({ first }) => first.width);
      close("width", ownWidths, widths, 1e-9, 1e-9);
      const sums = batches.map((batch) => batch.feedback);
      close("feedback", sums, feedback, 1e-12, 1e-12);
    },
  }));
}

const batchList = (batches: number[][]): string => batches.map((batch) => batch.join()).join(" ");

async function policyOf(file: Json, result: Json): Promise<Policy> {
  const options = {
    domain: { points: file.points },
    kernel: kernelOf(file.kernel),
    noiseVariance: file.lam,
    delta: file.delta,
    // A threshold of 1 makes batches of one evaluation.
    threshold: result.sequential ? 1 : result.C,
    batchRule: result.rule,
  };
  const confidence = ({ bayes: "bayesian", freq: "frequentist", ei: "frequentist" } as const)[result.beta_kind as "bayes" | "freq" | "ei"];
  if (!confidence) throw new Error(`unknown kind ${result.beta_kind} of confidence`);
  const policy = result.acquisition === "ei" ? miniGpEi(options) : miniGpUcb({ ...options, normBound: file.F, confidence });
  return started(policy);
}

/** Plays T evaluations. The feedback of a batch arrives at its end. */
async function play(file: Json, result: Json): Promise<{ batches: Batch[]; last: number }> {
  const policy = await policyOf(file, result);
  const batches: Batch[] = [];
  let waiting: { impression: AppendedImpression; reward: number }[] = [];
  for (let e = 0; e < file.T; e++) {
    let [choice] = policy.choose({ round: e + 1 });
    // Mean and width stay the same within a batch, so a change starts a new batch.
    if (choice.width !== batches.at(-1)?.first.width || choice.mean !== batches.at(-1)?.first.mean) {
      for (const outcome of waiting) policy.observe(outcome);
      waiting = [];
      [choice] = policy.choose({ round: e + 1 });
      batches.push({ index: choice.index, first: choice, length: 0, feedback: 0 });
    }
    const batch = batches.at(-1) as Batch;
    const reward = file.f[choice.index] + file.eps[e];
    batch.length++;
    batch.feedback += reward;
    waiting.push({ impression: policy.append({ round: e + 1, features: choice.features }), reward });
  }
  const { first, length } = batches.at(-1) as Batch;
  for (let last = length; ; last++) {
    const [{ mean, width, features }] = policy.choose({ round: file.T + 1 + last });
    if (mean !== first.mean || width !== first.width) return { batches, last };
    policy.append({ round: file.T + 1 + last, features });
  }
}
