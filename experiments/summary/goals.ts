// Checks this project's goals on the papers' problems against results.json, and writes the table of goals in docs/research.md.

import { table } from "../../cli/command/markdown.ts";
import { settings as bootstrapSettings } from "../beyond/bootstrap.ts";
import { forgetting } from "../beyond/linear.ts";
import { rhythmSettings } from "../beyond/rhythms.ts";
import type { Result } from "../runs/results.ts";
import { type Look, list, type Weighed, watched } from "./claims.ts";
import { PROVENANCE, provenance } from "./provenance.ts";

interface Goal {
  readonly problem: string;
  readonly goal: string;
  /** `has`: whether there is such a result. */
  weigh(mean: Look, has: (...names: Parameters<Look>) => boolean): Weighed;
}

const UCB = "delay-aware GP-UCB";

const bootstrapped = Object.keys(bootstrapSettings);
const settings = ["m = 500, mean 100", "m = 100, mean 100", "m = 100, mean 500"];
const rates = ["rate 1 %, spread 0.5", "rate 2 %, spread 1", "rate 2 %, spread 2", "rate 5 %, spread 0.5", "rate 5 %, spread 3"];
const laws = ["geometric", "uniform", "log-normal"];
const objectives = ["f1, Poisson 25", "f1, Poisson 50", "f2, Poisson 25", "f2, Poisson 50"];
const delays = ["no delay", "geometric 20", "geometric 50"];
const logs = ["uniform log", "skewed log", "more skewed log", "skewed log, few conversions", "uniform log, delays", "skewed log, delays"];

const each = (mean: Look, experiment: string, names: readonly string[], algorithm: string, metric?: string): number[] =>
  names.map((setting) => mean(experiment, setting, algorithm, metric));
const ratios = (values: readonly number[], others: readonly number[]): number[] => values.map((value, i) => value / others[i]);
const atMost = (values: readonly number[], ...bounds: readonly number[]): boolean =>
  values.every((value, i) => value <= (bounds[i] ?? bounds[0]));

/** Regret on a function of one variable, as a share of Delayed Zooming's. */
function lipschitz(name: string, share: number, words: string): Goal {
  return {
    problem: `Liu's ${name}, sigma 0.03, without delay and with geometric ones of mean 20 and 50`,
    goal: `at most ${words} of Delayed Zooming's regret`,
    weigh(mean) {
      const [own, zooming] = [UCB, "Delayed Zooming, sigma 0.03"].map((algorithm) =>
        each(
          mean,
          "liu",
          delays.map((delay) => `${name}, ${delay}`),
          algorithm,
        ),
      );
      return { figures: `${list(own)}; Delayed Zooming ${list(zooming)}`, holds: atMost(ratios(own, zooming), share) };
    },
  };
}

const goals: readonly Goal[] = [
  {
    problem: "Vernade's setting, (m, mean delay) = (500, 100) / (100, 100) / (100, 500)",
    goal: "a regret of at most 50 / 85 / 220",
    weigh(mean) {
      const own = each(mean, "vernade", settings, "delay-lin-ts");
      const others = {
        "`delay-lin-ucb`": "delay-lin-ucb",
        OTFLinUCB: "OTFLinUCB released",
        "LinTS with pending as zero": "LinTS, pending as zero",
      };
      const beside = Object.entries(others).map(([name, algorithm]) => `${name} ${list(each(mean, "vernade", settings, algorithm))}`);
      return { figures: [list(own), ...beside].join("; "), holds: atMost(own, 50, 85, 220) };
    },
  },
  {
    problem: "Vernade's setting under a heavy tail, 10,000 rounds",
    goal: "at most half of OTFLinUCB's regret",
    weigh(mean) {
      const [own, greedy, paper] = ["delay-lin-ts", "LinTS, pending as zero", "OTFLinUCB released"].map((algorithm) =>
        mean("heavy-tail", "log-normal mixture", algorithm),
      );
      return {
        figures: `${list([own])}; OTFLinUCB ${list([paper])}, LinTS with pending as zero ${list([greedy])}`,
        holds: own <= paper / 2,
      };
    },
  },
  {
    problem: "the same setting with the delays of Gigli and Stella (UAI 2024), and with a random parameter: 12 settings",
    goal: "at most 0.85 of the regret of their BootstrapLinTS in each",
    weigh(mean) {
      const [own, other] = ["delay-lin-ts", "BootstrapLinTS"].map((algorithm) => each(mean, "bootstrap", bootstrapped, algorithm));
      const seconds = mean("bootstrap", bootstrapped[0], "BootstrapLinTS", "seconds");
      const shares = ratios(own, other);
      const figures = `${list(own)}; BootstrapLinTS ${list(other)}, in ${list([seconds])} s a run: ${list([Math.min(...shares)])} to ${list([Math.max(...shares)])} of it`;
      return { figures, holds: atMost(shares, 0.85) };
    },
  },
  {
    problem: "Vernade's setting, with other parameters from round 4,001 of 8,000 on",
    goal: "less regret from there by default than with a known half-life of 1,000; where nothing changes at most 1.05 of it without forgetting",
    weigh(mean) {
      const [own, never, halfLife] = Object.keys(forgetting).map((name) => each(mean, "changing", ["changed", "the same"], name));
      return {
        figures: `${list([own[0]])}; half-life ${list([halfLife[0]])}, nothing forgotten ${list([never[0]])}; where nothing changes ${list([own[1]])}, ${list([halfLife[1]])} and ${list([never[1]])}`,
        holds: own[0] < halfLife[0] && own[1] <= 1.05 * never[1],
      };
    },
  },
  {
    problem: "conversions whose log-odds are linear, at rates of 1 / 2 / 2 / 5 / 5 %",
    goal: '`rewards: "bernoulli"` predicts the mean rate within a tenth',
    weigh(mean) {
      const of = (metric: string) => ["log-odds", "expected reward"].map((name) => each(mean, "log-odds", rates, name, metric));
      const [ratio, linear] = of("predicted rate over the true one");
      const [regret, other] = of("regret");
      return {
        figures: `${list(ratio)} times it; linear ${list(linear)}; regret ${list(regret)}, linear ${list(other)}`,
        holds: ratio.every((value) => Math.abs(value - 1) <= 0.1),
      };
    },
  },
  {
    problem: "digits, one pass with a mean delay of 200",
    goal: "at most 560 mistakes",
    weigh(mean) {
      const [own, greedy, paper, uniform] = ["delay-lin-ts", "LinTS, pending as zero", "OTFLinUCB released", "uniform"].map((algorithm) =>
        mean("digits", "geometric 200", algorithm),
      );
      return {
        figures: `${list([own])}; LinTS with pending as zero ${list([greedy])}, OTFLinUCB ${list([paper])}, uniform ${list([uniform])}`,
        holds: own <= 560,
      };
    },
  },
  {
    problem: "digits, beside the same pass without delay",
    goal: "at most 1.3 times its own mistakes without delay",
    weigh(mean) {
      const [late, prompt] = ["geometric 200", "no delay"].map((setting) => mean("digits", setting, "delay-lin-ts"));
      return { figures: `${list([late / prompt])} times ${list([prompt])}`, holds: late / prompt <= 1.3 };
    },
  },
  {
    problem: "Verma's 50 tasks",
    goal: "at most 0.75 of GP-UCB-SDF's regret",
    weigh(mean) {
      const [own, paper] = [UCB, "GP-UCB-SDF"].map((algorithm) => mean("verma-multi-task", "50 tasks", algorithm));
      return { figures: `${list([own])}; GP-UCB-SDF ${list([paper])}`, holds: own <= 0.75 * paper };
    },
  },
  {
    problem: "Verma's first 20 tasks, by sampling",
    goal: "less regret than asy-TS and GP-TS-SDF",
    weigh(mean) {
      const [own, ...papers] = ["delay-aware GP-TS", "asy-TS", "GP-TS-SDF"].map((algorithm) =>
        mean("verma-multi-task-sampling", "20 tasks", algorithm),
      );
      return {
        figures: `${list([own])}; asy-TS ${list([papers[0]])}, GP-TS-SDF ${list([papers[1]])}`,
        holds: papers.every((paper) => own < paper),
      };
    },
  },
  {
    problem: "the same 20 tasks by upper confidence bounds, with a budget of 64 / 128 / 256 rows",
    goal: "with 256 within a tenth of the exact process's regret",
    weigh(mean) {
      const [exact, ...bounded] = ["exact", "64 rows", "128 rows", "256 rows"].map((rows) => mean("budget", "20 tasks", rows));
      return { figures: `${list(bounded)}; exact ${list([exact])}`, holds: bounded[2] <= 1.1 * exact };
    },
  },
  {
    problem: "Vakili's objectives f1 and f2, Poisson delays of mean 25 and 50",
    goal: "at most 0.3 of BPE-Delay's regret, and less than GP-UCB's",
    weigh(mean) {
      const [own, paper, optimistic] = [UCB, "BPE-Delay", "GP-UCB"].map((algorithm) => each(mean, "vakili", objectives, algorithm));
      return {
        figures: `${list(own)}, which is ${list(ratios(own, paper))} of BPE-Delay's; GP-UCB ${list(optimistic)}`,
        holds: atMost(ratios(own, paper), 0.3) && own.every((regret, i) => regret < optimistic[i]),
      };
    },
  },
  lipschitz("triangle", 1 / 3, "a third"),
  lipschitz("sine", 1 / 6, "a sixth"),
  {
    problem: "distribution of delays (geometric / uniform / log-normal) from 500 conversions with three means of follow-up",
    goal: "within 0.06 below its 95 % quantile",
    weigh(mean) {
      const [long, short] = ["follow-up 3 to 6 means", "follow-up up to 3 means"].map((name) => each(mean, "delays", laws, name));
      return { figures: `${list(long)}; with less follow-up ${list(short)}`, holds: atMost(long, 0.06) };
    },
  },
  {
    problem: "alarm, under the same laws",
    goal: "within 12 expected conversions of a cut, in fewer than 1 % of runs before",
    weigh(mean) {
      const [expected, false_] = ["expected conversions until the alarm", "false alarms"].map((metric) =>
        each(mean, "alarm", laws, "silence", metric),
      );
      return {
        figures: `${list(expected)}; before in ${list(false_.map((share) => 100 * share))} %`,
        holds: atMost(expected, 12) && false_.every((share) => share < 0.01),
      };
    },
  },
  {
    problem: "alarm where conversions come in daily batches, not at night, not at weekends, with growth, and combined, at 15 and 150 a day",
    goal: "no false alarm, and each break from day 3 on found after two days (150 a day: one), or 1.5 times what a test with the rhythm needs",
    weigh(mean) {
      const [false_, late, known] = [
        "runs with a false alarm (%)",
        "breaks found too late (%)",
        "breaks found too late, not in the first weekend (%)",
      ].map((metric) => each(mean, "rhythm", rhythmSettings, "silence", metric));
      const alone = each(mean, "rhythm", rhythmSettings, "chance alone", "runs with a false alarm (%)");
      const [most, least] = [Math.max, Math.min].map((of) => (values: readonly number[]) => of(...values).toFixed(1));
      return {
        figures:
          `false in at most ${most(false_)} % of runs, without the rhythm in up to ${most(alone)} %; too late ${least(late)} to ${most(late)} %, ` +
          `outside the first weekend ${least(known)} to ${most(known)} %`,
        holds: atMost(false_, 0) && atMost(late, 0),
      };
    },
  },
  {
    problem: "off-policy intervals at 95 %, of policies given and learnt",
    goal: "hold the truth in 93 to 97 % of 1,000 logs",
    weigh(mean, has) {
      // Where all logs support too little of a policy, there is no interval.
      const shares = logs.map((log) =>
        ["given", "learnt"].flatMap((policy) =>
          ["ips", "snips", "doublyRobust"].flatMap((name) => {
            const metric = `${name} covers (%)`;
            return has("intervals", log, policy, metric) ? [mean("intervals", log, policy, metric)] : [];
          }),
        ),
      );
      const range = (values: readonly number[]): string =>
        values.length === 0 ? "too few" : [Math.min(...values), Math.max(...values)].map((v) => v.toFixed(1)).join(" to ");
      return {
        figures: logs.map((log, i) => `${log} ${range(shares[i])}`).join("; "),
        holds: shares.flat().every((share) => share >= 93 && share <= 97),
      };
    },
  },
];

/** The table of goals: the goal, the figures here, and whether they reach it. */
export function goalsTable(results: readonly Result[]): string {
  const rows = goals.map(({ problem, goal, weigh }) => {
    const { mean, has, used } = watched(results);
    const { figures, holds } = weigh(mean, has);
    return [problem, goal, figures, holds ? "yes" : "**no**", ...provenance(used)];
  });
  return table(["problem", "goal", "here", "reached", ...PROVENANCE], rows, 4);
}

/** The table of the alarm in shops with a rhythm. */
export function rhythmTable(results: readonly Result[]): string {
  const rows = rhythmSettings.map((setting) => {
    const { mean, used } = watched(results);
    const of = (metric: string, algorithm = "silence"): string => mean("rhythm", setting, algorithm, metric).toFixed(1);
    const cells = [
      of("runs with a false alarm (%)"),
      of("runs with a false alarm (%)", "chance alone"),
      of("breaks found too late (%)"),
      of("breaks found too late, not in the first weekend (%)"),
      of("hours of silence until the alarm"),
      of("hours that a test with the rhythm needs"),
    ];
    return [setting, ...cells, ...provenance(used)];
  });
  const head = ["false (%)", "without the rhythm", "late (%)", "not in the first weekend", "hours until the alarm", "a test that knows"];
  return table(["conversions", ...head, ...PROVENANCE], rows);
}
