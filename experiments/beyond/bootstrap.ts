// The default configuration of the delay-aware policies beside BootstrapLinTS, in the environments of its paper.
import { delayLinTs, delayLinUcb, type PolicyDescriptor } from "afterclick";
import { randomGamma } from "d3-random";
import { type DelayLaw, geometric } from "../../src/simulation/delay-law.ts";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { converting } from "../../src/simulation/world.ts";
import { type Curve, type Experiment, roundsOf } from "../runs/experiment.ts";
import { figures, regretCurve, regretOf, world } from "../vernade.ts";
import { bootstrapLinTs } from "./bootstrap-lin-ts.ts";

const DIMENSION = 5;
const HORIZON = 3000;

type Delay = Pick<DelayLaw, "draw">;

/** Rounded down to whole rounds. The least delay is 1. */
const pareto = (shape: number): Delay => ({ draw: (random) => Math.floor((1 - random()) ** (-1 / shape)) });

/** The size of a draw from Student's t distribution, times a scale, rounded. */
const halfStudent = (degrees: number, scale: number): Delay => ({
  draw(random) {
    const chiSquare = 2 * randomGamma.source(random)(degrees / 2)();
    return Math.round((scale * Math.abs(random.normal())) / Math.sqrt(chiSquare / degrees));
  },
});

/** The sizes of normal draws, normalised. */
function randomParameter(random: Stream): number[] {
  const raw = Array.from({ length: DIMENSION }, () => Math.abs(random.normal()));
  const norm = Math.hypot(...raw);
  return raw.map((each) => each / norm);
}

interface Setting {
  readonly law: Delay;
  readonly window: number;
  /** Whether each run has its own parameter. Otherwise it is that of Vernade et al. */
  readonly drawn?: boolean;
}

export const settings: Readonly<Record<string, Setting>> = {
  "geometric 100, m = 500": { law: geometric(100), window: 500 },
  "geometric 100, m = 100": { law: geometric(100), window: 100 },
  "geometric 500, m = 100": { law: geometric(500), window: 100 },
  "geometric 500, m = 500": { law: geometric(500), window: 500 },
  "geometric 1,000, m = 500": { law: geometric(1000), window: 500 },
  "Pareto 0.5, m = 500": { law: pareto(0.5), window: 500 },
  "Pareto 1, m = 100": { law: pareto(1), window: 100 },
  "Pareto 0.2, m = 500": { law: pareto(0.2), window: 500 },
  "half-Student 1, scale 100, m = 500": { law: halfStudent(1, 100), window: 500 },
  "half-Student 10, scale 100, m = 100": { law: halfStudent(10, 100), window: 100 },
  "half-Student 10, scale 500, m = 500": { law: halfStudent(10, 500), window: 500 },
  "random parameter, geometric 100, m = 500": { law: geometric(100), window: 500, drawn: true },
};

const policies: Readonly<Record<string, PolicyDescriptor>> = {
  "delay-lin-ts": delayLinTs({ dimension: DIMENSION }),
  "delay-lin-ucb": delayLinUcb({ dimension: DIMENSION }),
};

export const bootstrap: Experiment = {
  id: "bootstrap",
  title: "Vernade's setting with the delays of Gigli and Stella 2024, beside their BootstrapLinTS",
  runs: 30,
  settings: Object.keys(settings),
  algorithms: [...Object.keys(policies), "BootstrapLinTS"],
  figures,
  ratios: [{ metric: "cumulative regret", of: "delay-lin-ts", to: ["BootstrapLinTS"] }],
  async run(task): Promise<readonly Curve[]> {
    const { setting, algorithm, run } = task;
    const { law, window, drawn } = settings[setting];
    const names = ["bootstrap", setting, run];
    const theta = drawn ? randomParameter(stream(...names, "parameter")) : undefined;
    const played = converting(world(roundsOf(HORIZON, task), law, names, theta));
    if (algorithm in policies) return regretOf(policies[algorithm], window, played, run);
    const start = performance.now();
    const curves = regretCurve(bootstrapLinTs({ dimension: DIMENSION, window }, stream(...names, algorithm)), window, played);
    return [...curves, { metric: "seconds", at: [HORIZON], values: [(performance.now() - start) / 1000] }];
  },
};
