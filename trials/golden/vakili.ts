// Golden cases of Vakili et al. 2023: lengths of rounds, and the queries and survivors of BPE and BPE-Delay.
import { bpe, bpeDelay, type Policy } from "afterclick";
import type { AppendedImpression } from "afterclick/research";
import { type Case, close, equal, type Json, kernelOf, started } from "./case.ts";

/** Number of impressions per slot. The slot is the number of the round. */
function lengthsOf(slots: readonly number[]): number[] {
  const lengths: number[] = [];
  for (const slot of slots) lengths[slot - 1] = (lengths[slot - 1] ?? 0) + 1;
  return lengths;
}

function lengthCase({ T, E_tau: expectedDelay, delta, xi, b, t_cut_to_T: expected }: Json): Case {
  return {
    name: `lengths at T=${T} E=${expectedDelay}`,
    async run() {
      const domain = { points: [[0]] };
      const policy = await started(bpeDelay({ domain, horizon: T, expectedDelay, delta, xi, b }));
      const slots = Array.from({ length: T }, (_, i) => policy.append({ round: i + 1, features: [0] }).slot);
      close("lengths", lengthsOf(slots), expected, 0);
    },
  };
}

/** Plays a run. Calls `ended` after each t with the number of rewards of the present round that have arrived. */
async function play(run: Json, policy: Policy, choices: number[], ended: (t: number, seen: number) => void): Promise<number[]> {
  const due: { impression: AppendedImpression; reward: number }[][] = [];
  const slots: number[] = [];
  let seen = 0;
  for (let t = 1; t <= run.T; t++) {
    const [{ index }] = policy.choose({ round: t });
    equal(`choice ${t}`, index, choices[t - 1]);
    const impression = policy.append({ round: t, features: run.points[index] });
    if (t > 1 && impression.slot > (slots.at(-1) as number)) equal("order of rounds", impression.slot, (slots.at(-1) as number) + 1);
    if (impression.slot !== slots.at(-1)) seen = 0;
    slots.push(impression.slot);
    // If k + tau = n, the feedback arrives at the very end of its round.
    const known = t + run.tau[t - 1];
    due[known] = [...(due[known] ?? []), { impression, reward: run.f[index] + run.eps[t - 1] }];
    for (const outcome of due[t] ?? []) {
      policy.observe(outcome);
      if (outcome.impression.slot === impression.slot) seen++;
    }
    ended(t, seen);
  }
  return slots;
}

/** Checks the survivors of a round: the points that the next round may query, by the posterior of arrived feedback. */
function checkRound(policy: Policy, run: Json, before: number[], round: Json): void {
  const { mean, variance } = policy.predict(before.map((place) => run.points[place]));
  const lower = mean.map((each, i) => each - run.width * Math.sqrt(variance[i]));
  const greatest = Math.max(...lower);
  close(`greatest lower bound of round ${round.r}`, greatest, round.max_lcb, 1e-9);
  const survivors = before.filter((_, i) => mean[i] + run.width * Math.sqrt(variance[i]) >= greatest);
  const margin = Math.min(...mean.map((each, i) => Math.abs(each + run.width * Math.sqrt(variance[i]) - greatest)));
  close(`distance to the bound in round ${round.r}`, margin, round.margin, 1e-9);
  equal(`points before round ${round.r}`, before.length, round.before);
  equal(`points after round ${round.r}`, survivors.length, round.after);
  equal(`survivors of round ${round.r}`, survivors.join(), round.survivors.join());
}

function runCase(run: Json, name: "bpe" | "bpe_delay"): Case {
  return {
    name,
    async run() {
      const { lengths, choices, rounds, q } = run[name];
      const options = {
        domain: { points: run.points },
        kernel: kernelOf(run.kernel),
        noiseVariance: run.lam,
        horizon: run.T,
        beta: run.width,
      };
      // The file's first round has 47 = ceil(16 + u) queries, which is the length at a mean delay of 8.
      const policy = await started(name === "bpe" ? bpe(options) : bpeDelay({ ...options, expectedDelay: 8 }));
      const ends = lengths.map((_: number, r: number) => lengths.slice(0, r + 1).reduce((sum: number, each: number) => sum + each, 0));
      const slots = await play(run, policy, choices, (t, seen) => {
        const r = ends.indexOf(t);
        if (r < 0) return;
        equal("round", rounds[r].r, r + 1);
        equal(`feedback seen in round ${r + 1}`, seen, rounds[r].seen);
        equal(`length of round ${r + 1}`, lengths[r], rounds[r].length);
        checkRound(policy, run, r === 0 ? run.points.map((_: Json, i: number) => i) : rounds[r - 1].survivors, rounds[r]);
      });
      close("lengths", lengthsOf(slots), lengths, 0);
      // Without delay the length of a round is q, except the last, which ends with the run.
      if (name === "bpe") close("q", lengths.slice(0, -1), q.slice(0, lengths.length - 1), 0);
    },
  };
}

export function explorationCases({ lengths, run }: Json): Case[] {
  return [...lengths.map(lengthCase), runCase(run, "bpe_delay"), runCase(run, "bpe")];
}
