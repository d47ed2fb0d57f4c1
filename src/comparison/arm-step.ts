/** Sums over the lists of one arm that were shown in one step of time. The impressions of a list depend on each other. */
export interface ArmStep {
  /** Mean time of the impressions, in any unit. */
  readonly shownAt: number;
  readonly impressions: number;
  readonly lists: number;
  /** Sum of the squared sizes of the lists. */
  readonly squares: number;
  /** Impressions that converted, and lists with at least one of them. */
  readonly conversions: number;
  readonly converted: number;
  /** Sums over the lists: the squared number of conversions, and that number times the size. */
  readonly conversionSquares: number;
  readonly products: number;
  /** Impressions by product. Default: all of one. */
  readonly groups?: Readonly<Record<string, number>>;
}

/** A list, shown to one visitor at one time. */
export interface ShownList {
  readonly shownAt: number;
  readonly size: number;
  /** Number of its impressions that have converted. */
  readonly came: number;
  /** The product of all its impressions. Default: one product for all lists. */
  readonly product?: string;
}

type Sums = { -readonly [Name in keyof Omit<ArmStep, "groups">]: number } & { readonly groups: Record<string, number> };

/** Sums lists by step. `stepOf`: names the step of a time. */
export function armSteps(lists: Iterable<ShownList>, stepOf: (shownAt: number) => number): ArmStep[] {
  const steps = new Map<number, Sums & { readonly start: number }>();
  for (const { shownAt, size, came, product = "" } of lists) {
    const start = stepOf(shownAt);
    let sums = steps.get(start);
    if (!sums) {
      sums = {
        ...{ start, shownAt: 0, impressions: 0, lists: 0, squares: 0 },
        ...{ conversions: 0, converted: 0, conversionSquares: 0, products: 0, groups: {} },
      };
      steps.set(start, sums);
    }
    // Times since the start keep all their digits in a sum.
    sums.shownAt += size * (shownAt - start);
    sums.impressions += size;
    sums.lists++;
    sums.squares += size ** 2;
    sums.conversions += came;
    if (came > 0) sums.converted++;
    sums.conversionSquares += came ** 2;
    sums.products += came * size;
    sums.groups[product] = (sums.groups[product] ?? 0) + size;
  }
  return Array.from(steps.values(), ({ start, ...sums }) => ({ ...sums, shownAt: start + sums.shownAt / sums.impressions }));
}
