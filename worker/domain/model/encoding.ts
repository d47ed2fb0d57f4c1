import { type Action, type EncoderOptions, encoder } from "afterclick";
import { namedAction, vocabularyOf, withCatalogue } from "afterclick/research";
import { Problem } from "../../protocol/problem.ts";
import type { ModelConfig } from "./model.ts";
import { differences } from "./reconfiguration.ts";

/** How well an encoder tells the actions of a catalogue apart. */
export interface Encoding {
  /** Components of the vector, and those of a single term. */
  readonly dimension: number;
  readonly exact: number;
  /** Categories of the catalogue without room for a component of their own. */
  readonly shared: number;
  /** Ids of actions with equal vectors, group by group: the largest groups. The model learns one rate for each group. */
  readonly alike: readonly (readonly string[])[];
}

const MOST_GROUPS = 20;
const MOST_IDS = 20;

/** The configuration with a catalogue in its encoder's vocabulary, see `withCatalogue`. The same object if nothing is new. */
export function withVocabulary(config: ModelConfig, actions: readonly Action[]): ModelConfig {
  const next = config.encoder && withCatalogue(config.encoder, actions);
  return next === config.encoder ? config : { ...config, encoder: next };
}

/**
 * The configuration under which the features of an exported log mean what they meant where they were made. A model without impressions takes
 * the vocabulary of the exported one. Another one takes what extends its own.
 * @throws {Problem} 409 if the encoders differ, or the vocabulary that the model has learnt with.
 */
export function asExported(config: ModelConfig, exported: ModelConfig, actions: readonly Action[], hasLearnt: boolean): ModelConfig {
  const [{ vocabulary: own, ...options }, { vocabulary: made, ...others }] = [parted(config), parted(exported)];
  const shared = hasLearnt ? Math.min(own.length, made.length) : 0;
  if (differences([options, own.slice(0, shared)], [others, made.slice(0, shared)]).length > 0) {
    throw new Problem(409, "the log's features are of another encoder: import it into a new model with the encoder of the exported one");
  }
  if (!config.encoder || shared === made.length) return config;
  return withVocabulary({ ...config, encoder: { ...config.encoder, vocabulary: made } }, actions);
}

/** The encoder of a configuration, with its vocabulary. */
const parted = ({ encoder: options }: ModelConfig) => ({ vocabulary: [], ...(options as EncoderOptions | null) });

/** Measures the encoder of a configuration. A catalogue is encoded once. */
export class EncodingReport {
  readonly #options: EncoderOptions | null;
  #last?: { readonly actions: readonly Action[]; readonly encoding: Encoding | null };

  constructor({ encoder: options }: Pick<ModelConfig, "encoder">) {
    this.#options = options;
  }

  /** Null without an encoder, and for a catalogue that does not fit it: one that an earlier configuration took. */
  of(actions: readonly Action[]): Encoding | null {
    if (this.#last?.actions !== actions) this.#last = { actions, encoding: this.#measured(actions) };
    return this.#last.encoding;
  }

  #measured(actions: readonly Action[]): Encoding | null {
    try {
      return this.#options && measured(this.#options, actions);
    } catch {
      return null;
    }
  }
}

function measured(options: EncoderOptions, actions: readonly Action[]): Encoding {
  const { dimension, vocabulary = [] } = options;
  const named = actions.map(namedAction);
  const { exact, unplaced, encode } = encoder(options);
  const placed = vocabulary.slice(0, vocabulary.length - unplaced);
  const groups = new Map<string, string[]>();
  actions.forEach(({ id }, i) => {
    const vector = encode({ action: named[i] }).join();
    groups.set(vector, [...(groups.get(vector) ?? []), id]);
  });
  const alike = Array.from(groups.values()).filter(({ length }) => length > 1);
  return {
    dimension,
    exact,
    shared: vocabularyOf(named, placed).length - placed.length,
    alike: alike
      .toSorted((a, b) => b.length - a.length)
      .slice(0, MOST_GROUPS)
      .map((ids) => ids.slice(0, MOST_IDS)),
  };
}
