// Figures that are sums over the impressions of a model. A new one is an entry here: it is counted, added over shards, and stated in the
// metrics and descriptions of models.

/** An impression and its outcome, as figures count them. */
interface Counted {
  /** Whether it came with a publishable key. */
  readonly byPage: boolean;
  /** Null before the first conversion. */
  readonly reward: number | null;
  readonly converted: boolean;
  /** Whether it has reached goals without a weight alone, so that it may still convert. */
  readonly waits: boolean;
  /** Time from the impression to each goal that it has reached, in ms. The empty goal has the first of those with a weight. */
  readonly delays: Readonly<Record<string, number>> | null;
}

interface Figure {
  /** Description in the documentation of the API. */
  readonly about: string;
  /** The addend of an impression. Whole numbers alone: other sums depend on the order. */
  readonly of: (impression: Counted) => number;
}

export const FIGURES = {
  impressions: {
    about: "All shown impressions: pending, converted, retracted, expired, and those that were erased while they were pending.",
    of: () => 1,
  },
  fromPages: {
    about: "Impressions that came with a publishable key.",
    of: ({ byPage }) => Number(byPage),
  },
  converted: {
    about: "Impressions that have reached a goal with a weight. `reached` counts by goal.",
    of: ({ converted }) => Number(converted),
  },
  retracted: {
    about: "Impressions whose conversions were all retracted or refunded in full.",
    of: ({ reward, converted, waits }) => Number(reward !== null && !converted && !waits),
  },
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof FIGURES;
export const FIGURE_NAMES = Object.keys(FIGURES) as FigureName[];
