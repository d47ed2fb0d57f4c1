// Features of a model as vectors, in the same way for learner, isolates and pages.

import { type Encoder, type EncoderOptions, encoder } from "../encoding/encoder.ts";
import type { Points } from "../encoding/points.ts";
import type { NamedFeatures } from "../encoding/terms.ts";
import { record } from "../values/argument.ts";
import { SnapshotError } from "../values/errors.ts";

/** Features by name if the model has an encoder, otherwise as numbers. */
export type Features = NamedFeatures | readonly number[];

/** What can be shown: a product, an article, an offer. */
export interface Action {
  readonly id: string;
  readonly features?: Features;
  /** An action that is not available is never served. Default true. */
  readonly available?: boolean;
}

/** Whether an action may be shown. */
export function isAvailable({ available }: Action): boolean {
  return available !== false;
}

/** Turns a context and actions into the feature vectors of a model. All entries are multiples of 2^-12. */
export interface Featurizer {
  /** @throws {TypeError | RangeError} naming the features that do not fit the model. */
  vector(context: Features | undefined, action: Action): Float64Array;
  /**
   * Actions in a context, for a decision. A list that comes again is prepared only once.
   * @throws {TypeError | RangeError} naming the features that do not fit the model.
   */
  points(context: Features | undefined, actions: readonly Action[]): Points;
  /** The columns that `prepare` takes in another process. Undefined without an encoder, and for interactions of some features only. */
  columns(actions: readonly Action[]): Uint8Array | undefined;
  /** Prepares a list from its columns, which takes a fraction of the time. Columns of another encoder are ignored. */
  prepare(actions: readonly Action[], columns: Uint8Array): void;
}

/** @param options of the model's encoder. Null if its features are numbers. */
export function featurizer(options: EncoderOptions | null): Featurizer {
  return options ? byName(encoder(options), options) : byPlace;
}

/** Entries of feature vectors, and rewards, are multiples of 1 / RESOLUTION. */
export const RESOLUTION = 4096;

/** Rounds towards zero to a multiple of 2^-12. Sums of such numbers and of their products are exact, in any order. */
export function toDyadic(value: number): number {
  return Math.trunc(value * RESOLUTION) / RESOLUTION + 0;
}

/** Most interactions of all actions in one context, which take about 50 ms. */
const MOST_INTERACTIONS = 2_000_000;
/** Most numbers of all actions together, which take 20 MB: 10,000 actions of 256 features. */
const MOST_NUMBERS = 10_000 * 256;

const byPlace = {
  columns: () => undefined,
  prepare() {},
  vector: (context: Features | undefined, action: Action) => byPlace.points(context, [action]),
  points(context: Features = [], actions: readonly Action[]): Float64Array {
    const left = numbers("context", context);
    const right = actions.map(({ id, features = [] }) => numbers(`features of action ${id}`, features));
    const dimension = left.length + (right[0]?.length ?? 0);
    right.forEach(({ length }, i) => {
      if (left.length + length === dimension) return;
      throw new RangeError(
        `features of action ${actions[i].id}: expected ${dimension} numbers with the context's, got ${left.length + length}`,
      );
    });
    if (dimension * right.length > MOST_NUMBERS) {
      throw new RangeError(`features: expected at most ${MOST_NUMBERS} numbers of all actions together, got ${dimension * right.length}`);
    }
    const shared = left.map(toDyadic);
    const points = new Float64Array(right.length * dimension);
    right.forEach((own, i) => {
      points.set(shared, i * dimension);
      for (let j = 0; j < own.length; j++) points[i * dimension + left.length + j] = toDyadic(own[j]);
    });
    return points;
  },
};

function byName({ encode, among, columns }: Encoder, { interactions }: EncoderOptions): Featurizer {
  const prepared = new WeakMap<readonly Action[], ReturnType<typeof among>>();
  const read = (actions: readonly Action[], given?: Uint8Array): ReturnType<typeof among> => {
    const encodeFor = among(actions, { budget: MOST_INTERACTIONS, columns: given, featuresOf: namedAction });
    prepared.set(actions, encodeFor);
    return encodeFor;
  };
  return {
    vector: (context, action) => encode({ context: named("context", context ?? {}), action: namedAction(action) }),
    points(context, actions) {
      return (prepared.get(actions) ?? read(actions))(named("context", context ?? {}));
    },
    columns: (actions) => (typeof interactions === "object" && interactions.length > 0 ? undefined : columns(actions.map(namedAction))),
    prepare(actions, given) {
      try {
        read(actions, given);
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
      }
    },
  };
}

/** The vector of one action. */
export function vectorAt(points: Points, index: number, count: number): Float64Array {
  if (!(points instanceof Float64Array)) return points.rows([index]);
  const dimension = points.length / count;
  return points.slice(index * dimension, (index + 1) * dimension);
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
  if (Array.isArray(features)) throw new TypeError(`${what}: expected features by name, since the model has an encoder`);
  return record(what, features) as NamedFeatures;
}
