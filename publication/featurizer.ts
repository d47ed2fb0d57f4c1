import { type EncoderOptions, encoder, type NamedFeatures } from "afterclick";

/** Features by name if the model has an encoder, otherwise as numbers. */
export type Features = NamedFeatures | readonly number[];

export interface Action {
  readonly id: string;
  readonly features?: Features;
  /** An action that is not available is never served. Default true. */
  readonly available?: boolean;
}

/** Turns a context and actions into the feature vectors of a model. All entries are multiples of 2^-12. */
export interface Featurizer {
  /** @throws {TypeError | RangeError} naming the features that do not fit the model. */
  vector(context: Features | undefined, action: Action): Float64Array;
  /**
   * Shapes: actions x dimension, row-major. A list that comes again is prepared only once.
   * @throws {TypeError | RangeError} naming the features that do not fit the model.
   */
  matrix(context: Features | undefined, actions: readonly Action[]): Float64Array;
}

/** @param options of the model's encoder. Null if its features are numbers. */
export function featurizer(options: EncoderOptions | null): Featurizer {
  return options ? byName(encoder(options), options.dimension) : byPlace;
}

/** Entries of feature vectors, and rewards, are multiples of 1 / RESOLUTION. */
export const RESOLUTION = 4096;

/** Rounds towards zero to a multiple of 2^-12. Sums of such numbers and of their products are exact, in any order. */
export function toDyadic(value: number): number {
  return Math.trunc(value * RESOLUTION) / RESOLUTION + 0;
}

/** Most steps of interactions in one matrix, which take about 50 ms. An encoder states what a step is. */
const MOST_STEPS = 20_000_000;
/** Most numbers in one matrix, which take 20 MB: 10,000 actions of 256 features. */
const MOST_NUMBERS = 10_000 * 256;

const byPlace: Featurizer = {
  vector: (context, action) => byPlace.matrix(context, [action]),
  matrix(context = [], actions) {
    const left = numbers("context", context);
    const right = actions.map(({ id, features = [] }) => numbers(`features of action ${id}`, features));
    const dimension = left.length + (right[0]?.length ?? 0);
    right.forEach(({ length }, i) => {
      if (left.length + length === dimension) return;
      throw new RangeError(
        `features of action ${actions[i].id}: expected ${dimension} numbers with the context's, got ${left.length + length}`,
      );
    });
    checkNumbers(dimension * right.length);
    const shared = left.map(toDyadic);
    const points = new Float64Array(right.length * dimension);
    right.forEach((own, i) => {
      points.set(shared, i * dimension);
      for (let j = 0; j < own.length; j++) points[i * dimension + left.length + j] = toDyadic(own[j]);
    });
    return points;
  },
};

function byName({ encode, among }: ReturnType<typeof encoder>, dimension: number): Featurizer {
  const prepared = new WeakMap<readonly Action[], ReturnType<typeof among>>();
  return {
    vector: (context, action) => encode({ context: named("context", context ?? {}), action: namedAction(action) }),
    matrix(context, actions) {
      checkNumbers(dimension * actions.length);
      let encodeFor = prepared.get(actions);
      if (!encodeFor) {
        encodeFor = among(actions.map(namedAction), MOST_STEPS);
        prepared.set(actions, encodeFor);
      }
      return encodeFor(named("context", context ?? {}));
    },
  };
}

/** @throws {RangeError} */
function checkNumbers(count: number): void {
  if (count > MOST_NUMBERS)
    throw new RangeError(`features: expected at most ${MOST_NUMBERS} numbers of all actions together, got ${count}`);
}

/** The features that an encoder is given for an action: its own, and its id. */
export function namedAction({ id, features = {} }: Action): NamedFeatures {
  const byName = named(`features of action ${id}`, features);
  if ("id" in byName) throw new TypeError(`features of action ${id}: the name id is taken by the action's id`);
  return { ...byName, id };
}

function numbers(what: string, features: Features): readonly number[] {
  if (Array.isArray(features)) return features;
  throw new TypeError(`${what}: expected an array of numbers, since the model has no encoder`);
}

function named(what: string, features: Features): NamedFeatures {
  if (!Array.isArray(features)) return features as NamedFeatures;
  throw new TypeError(`${what}: expected features by name, since the model has an encoder`);
}
