/** Sizes of a request of a page for recommendations. */
export interface Shape {
  readonly names: number;
  /** Categories of each name. 0: a single text. */
  readonly categories: number;
  readonly length: number;
  /** Actions with features of their own. 0: the whole catalogue. */
  readonly actions: number;
  readonly actionNames: number;
  readonly actionCategories: number;
  readonly actionLength: number;
  readonly limit: number;
  readonly excluded: number;
}

/** Most bytes of a page's body. */
export const PAGE_BYTES = 128 * 1024;
/** The greatest sizes that the schema takes. */
export const MOST: Shape = {
  ...{ names: 256, categories: 64, length: 256, actions: 1000, actionNames: 256, actionCategories: 64, actionLength: 256 },
  ...{ limit: 100, excluded: 1000 },
};
/** A request of ordinary sizes, from which a search starts. */
export const START: Shape = {
  ...{ names: 8, categories: 4, length: 8, actions: 0, actionNames: 2, actionCategories: 2, actionLength: 8 },
  ...{ limit: 10, excluded: 0 },
};
/** Letters of one to four bytes. */
export const LETTERS = ["x", "é", "漢", "👟"];

/** Different texts of a length, filled up with a letter. */
export function texts(count: number, length: number, tag: string, letter: string): string[] {
  return Array.from({ length: count }, (_, i) => `${tag}${i.toString(36)}`.padEnd(length, letter).slice(0, length));
}

/** A request of these sizes. */
export function requestOf(shape: Shape, letter: string) {
  const features = (names: number, categories: number, length: number, tag: string): Record<string, string | string[]> =>
    Object.fromEntries(
      // The first names are those of the interactions.
      Array.from({ length: names }, (_, i) => [
        i < 26 ? String.fromCharCode(97 + i) : `n${i}`,
        categories === 0 ? texts(1, length, `${tag}${i}`, letter)[0] : texts(categories, length, tag, letter),
      ]),
    );
  const inline = Array.from({ length: shape.actions }, (_, i) => ({
    id: `action-${i}`,
    features: features(shape.actionNames, shape.actionCategories, shape.actionLength, `${i}-`),
  }));
  return {
    context: features(shape.names, shape.categories, shape.length, ""),
    limit: shape.limit,
    exclude: texts(shape.excluded, 40, "e", "x"),
    ...(inline.length > 0 && { actions: inline }),
  };
}
