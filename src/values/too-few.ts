/** A figure that needs more data. It stands in place of the number. */
export interface TooFew {
  readonly tooFew: {
    /** About how many more are needed. */
    readonly more: number;
    /** The thing to count, in the plural: "conversions", "impressions", "decisions". */
    readonly of: string;
  };
}

/** The value of a figure that needs about `more` more of something. At least one more is needed. */
export function tooFew(more: number, of: string): TooFew {
  return { tooFew: { more: Math.max(1, Math.ceil(more)), of } };
}

/** Whether a figure is missing for lack of data. */
export function isTooFew(figure: unknown): figure is TooFew {
  return typeof figure === "object" && figure !== null && "tooFew" in figure;
}

/** The text of a report: "too few, about 12 more conversions". */
export function tooFewText({ tooFew: { more, of } }: TooFew): string {
  return `too few, about ${more} more ${more === 1 ? of.replace(/s\b/, "") : of}`;
}
