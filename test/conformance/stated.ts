import { type PolicyFactory, policies } from "afterclick";
import { type Setting, settings } from "../support/scenario.ts";

// States the properties of every setting, so that no policy can excuse itself from a law by its own declaration.

/** Whether a value is independent of the order of conversions: also among impressions, only after all impressions, or not. */
type Order = "always" | "afterwards" | "never";

interface Stated {
  /**
   * The choice is deterministic ("none"), random with a known probability ("known"), with one estimated from many draws ("draws"),
   * or random with an unknown probability ("unknown").
   */
  readonly chance: "none" | "known" | "draws" | "unknown";
  /** Digest of the sums, snapshot after a rebuild, and predictions up to 1e-12. */
  readonly sums: Order;
  readonly state: Order;
  readonly predictions: Order | "none";
}

const row = (chance: Stated["chance"], sums: Order, state: Order, predictions: Stated["predictions"]): Stated => {
  return { chance, sums, state, predictions };
};

/** The settings that declare that the order of conversions does not matter. */
const INVARIANT = [
  "otf-lin-ucb released, buffered",
  "otf-lin-ucb theory, exact",
  "otf-lin-ts released, buffered",
  "otf-lin-ts theory, exact, capped",
  "delay-lin-ucb by evidence",
  "delay-lin-ucb fixed",
  "delay-lin-ucb in a funnel",
  "delay-lin-ucb by amounts",
  "delay-lin-ts by amounts",
  "delay-lin-ts by evidence",
  "delay-lin-ts fixed",
  "gp-ucb-sdf exact",
  "gp-ucb-sdf at capacity, buffered",
  "gp-ucb-sdf in a domain",
  "gp-ts-sdf theory",
  "gp-ts-sdf released, at capacity",
  "gp-ts-sdf in a domain",
  "gp-ts-sdf pathwise, in a domain",
  "epsilon-greedy candidates",
  "epsilon-greedy in a domain",
  "uniform",
];

const STATED: Record<string, Stated> = {
  "otf-lin-ucb released, buffered": row("none", "always", "always", "always"),
  "otf-lin-ucb theory, exact": row("none", "always", "always", "always"),
  "otf-lin-ts released, buffered": row("draws", "always", "always", "always"),
  "otf-lin-ts theory, exact, capped": row("draws", "always", "always", "always"),
  // Until it is rebuilt, the chosen ridge depends on history. The linearisation point of log-odds always does.
  "delay-lin-ucb by evidence": row("none", "always", "always", "afterwards"),
  "delay-lin-ucb fixed": row("none", "always", "always", "always"),
  // Holds while sums fit double precision.
  "delay-lin-ucb forgetting": row("none", "always", "always", "always"),
  "delay-lin-ucb log-odds": row("none", "afterwards", "afterwards", "afterwards"),
  "delay-lin-ucb in a funnel": row("none", "always", "always", "never"),
  "delay-lin-ucb by amounts": row("none", "always", "always", "always"),
  "delay-lin-ts in a funnel, log-odds": row("draws", "never", "never", "never"),
  "delay-lin-ts by amounts": row("draws", "always", "always", "never"),
  "delay-lin-ts by evidence": row("draws", "always", "always", "afterwards"),
  "delay-lin-ts fixed": row("draws", "always", "always", "always"),
  "delay-lin-ts forgetting, by evidence": row("draws", "always", "always", "afterwards"),
  "delay-lin-ts log-odds, fixed, forgetting": row("draws", "afterwards", "afterwards", "afterwards"),
  "gp-ucb-sdf exact": row("none", "always", "always", "always"),
  "gp-ucb-sdf at capacity, buffered": row("none", "always", "always", "always"),
  // Fitted hyper-parameters depend on history.
  "gp-ucb-sdf refitted": row("none", "always", "never", "afterwards"),
  "gp-ucb-sdf refitted with noise and pending": row("none", "always", "never", "afterwards"),
  "gp-ucb-sdf in a domain": row("none", "always", "always", "always"),
  "gp-ts-sdf theory": row("draws", "always", "always", "always"),
  "gp-ts-sdf released, at capacity": row("draws", "always", "always", "always"),
  "gp-ts-sdf in a domain": row("draws", "always", "always", "always"),
  "gp-ts-sdf pathwise, in a domain": row("draws", "always", "always", "always"),
  // Rows of the posterior are in order of arrival.
  "gp-ucb candidates": row("none", "always", "never", "always"),
  "gp-ucb refitted, in a domain": row("none", "always", "never", "afterwards"),
  "asy-ts candidates": row("draws", "always", "never", "always"),
  "asy-ts refitted, in a domain": row("draws", "always", "never", "afterwards"),
  "gp-bucb candidates": row("none", "always", "never", "always"),
  "gp-bucb refitted, in a domain": row("none", "always", "never", "afterwards"),
  "gp-bucb refitted with noise and pending": row("none", "always", "never", "afterwards"),
  "gp-bts candidates": row("draws", "always", "never", "always"),
  "gp-bts refitted, in a domain": row("draws", "always", "never", "afterwards"),
  "delay-gp-ucb candidates with a context": row("none", "always", "never", "afterwards"),
  "delay-gp-ucb in a domain": row("none", "always", "never", "afterwards"),
  "delay-gp-ucb at capacity": row("none", "never", "never", "never"),
  "delay-gp-ucb bernoulli, with a context": row("none", "always", "never", "never"),
  "delay-gp-ucb bernoulli, in a domain": row("none", "always", "never", "never"),
  "delay-gp-ucb forgetting": row("none", "never", "never", "afterwards"),
  "delay-gp-ts candidates with a context": row("draws", "always", "never", "afterwards"),
  "delay-gp-ts in a domain, at capacity": row("draws", "never", "never", "never"),
  "delay-gp-ts bernoulli, at capacity": row("draws", "afterwards", "never", "never"),
  "delay-gp-ts bernoulli, forgetting": row("draws", "never", "never", "never"),
  "delay-gp-ts forgetting, in a domain": row("draws", "never", "never", "afterwards"),
  "delayed-zooming in a box": row("unknown", "never", "never", "none"),
  "delayed-zooming among points": row("none", "afterwards", "never", "none"),
  "dlpp in a box": row("unknown", "afterwards", "afterwards", "none"),
  "dlpp among points": row("unknown", "never", "never", "none"),
  "bpe-delay short rounds": row("none", "afterwards", "afterwards", "afterwards"),
  "bpe past its horizon": row("none", "afterwards", "afterwards", "afterwards"),
  "mini-gp-ucb frequentist": row("none", "always", "never", "always"),
  "mini-gp-ucb Bayesian, raw, refitted": row("none", "always", "never", "afterwards"),
  "mini-gp-ei": row("none", "always", "never", "always"),
  "gp-ei candidates": row("none", "always", "never", "always"),
  "gp-ei in a domain": row("none", "always", "never", "always"),
  "epsilon-greedy candidates": row("known", "always", "always", "always"),
  "epsilon-greedy in a domain": row("known", "always", "always", "always"),
  uniform: row("known", "always", "always", "none"),
};

export interface Listed extends Stated {
  readonly name: string;
  readonly factory: PolicyFactory;
  readonly setting: Setting;
  readonly invariant: boolean;
  readonly proposes: boolean;
  readonly hasDomain: boolean;
}

/** Sorted names of the settings with a property. */
export const named = Object.keys(STATED);

/** Every tested setting of every policy, with its stated properties. */
export const listed: readonly Listed[] = policies.flatMap((factory) =>
  (settings[factory.id] ?? []).map((setting) => {
    const name = `${factory.id} ${setting.label}`.trim();
    const { proposes = false } = setting;
    return {
      ...STATED[name],
      name,
      factory,
      setting,
      invariant: INVARIANT.includes(name),
      proposes,
      hasDomain: "domain" in setting.options,
    };
  }),
);

/** Settings that take candidates, that rank, that draw from a posterior, and that predict. */
export const amongCandidates = listed.filter(({ hasDomain }) => !hasDomain);
export const ranking = listed.filter(({ proposes }) => !proposes);
export const sampling = listed.filter(({ chance }) => chance === "draws");
export const predicting = listed.filter(({ predictions }) => predictions !== "none");
