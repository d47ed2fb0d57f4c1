import { type EncoderOptions, encoder, type NamedFeatures } from "afterclick";

/** Features by name if the model has an encoder, otherwise as numbers. */
export type Features = NamedFeatures | readonly number[];

export interface Action {
  readonly id: string;
  readonly features?: Features;
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
  return options ? byName(encoder(options)) : byPlace;
}

const RESOLUTION = 4096;

/** Rounds towards zero to a multiple of 2^-12. Sums of such numbers and of their products are exact, in any order. */
export function toDyadic(value: number): number {
  return Math.trunc(value * RESOLUTION) / RESOLUTION + 0;
}

const byPlace: Featurizer = {
  vector(context = [], { id, features = [] }) {
    return Float64Array.from([...numbers("context", context), ...numbers(`features of action ${id}`, features)], toDyadic);
  },
  matrix(context, actions) {
    const rows = actions.map((action) => byPlace.vector(context, action));
    const [{ length: dimension } = new Float64Array()] = rows;
    const points = new Float64Array(rows.length * dimension);
    rows.forEach((row, i) => {
      if (row.length !== dimension) {
        throw new RangeError(`features of action ${actions[i].id}: expected ${dimension} numbers with the context's, got ${row.length}`);
      }
      points.set(row, i * dimension);
    });
    return points;
  },
};

function byName({ encode, among }: ReturnType<typeof encoder>): Featurizer {
  const prepared = new WeakMap<readonly Action[], ReturnType<typeof among>>();
  return {
    vector: (context, action) => encode({ context: named("context", context ?? {}), action: namedAction(action) }),
    matrix(context, actions) {
      let encodeFor = prepared.get(actions);
      if (!encodeFor) {
        encodeFor = among(actions.map(namedAction));
        prepared.set(actions, encodeFor);
      }
      return encodeFor(named("context", context ?? {}));
    },
  };
}

function namedAction({ id, features = {} }: Action): NamedFeatures {
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
