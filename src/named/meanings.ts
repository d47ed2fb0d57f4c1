// Tells policies what no event says: the meaning of features, and the earlier sales of a shop.

import { type EncoderOptions, encoder } from "../encoding/encoder.ts";
import { vocabularyOf } from "../encoding/vocabulary.ts";
import type { Policy } from "../policy/policy.ts";
import { finiteNumber, onlyKeys, outOfRange, record, wrongType } from "../values/argument.ts";
import { type Action, type Featurizer, namedAction } from "./featurizer.ts";

/**
 * The encoder with the numbers and categories of a catalogue in its vocabulary. Those of earlier catalogues keep their components. Entries
 * beyond the dimension are left out, since they could never have one. The same object if nothing is new.
 *
 * Ids come before other categories while all have room. The first component of an action tells whose delays it has (`OwnLaws`).
 */
export function withCatalogue<Options extends EncoderOptions>(options: Options, actions: readonly Action[]): Options {
  const { vocabulary: before = [], dimension } = options;
  // Features as numbers belong to an earlier configuration.
  const named = actions.filter(({ features }) => !Array.isArray(features)).map(namedAction);
  const numbers = named.map((each) => Object.fromEntries(Object.entries(each).filter(([, value]) => typeof value === "number")));
  const ids = named.map(({ id }) => ({ id }));
  const byId = vocabularyOf(named, vocabularyOf(ids, vocabularyOf(numbers, before)));
  const hasRoom = byId.length < dimension && encoder({ ...options, vocabulary: byId }).unplaced === 0;
  const vocabulary = (hasRoom ? byId : vocabularyOf(named, before)).slice(0, Math.max(dimension, before.length));
  return vocabulary.length === before.length ? options : { ...options, vocabulary };
}

/** Tells a policy what the components of features mean. Numbers are main effects of actions, as nobody says what they mean. */
export function tellBlocks(policy: Policy, options: EncoderOptions | null): void {
  if (policy.dimension === 0) return;
  policy.regroup(options ? encoder(options).blocks : new Array(policy.dimension).fill(1));
}

/** Earlier sales of an action. `views`: the impressions that brought the sales, if they are known. */
export interface PriorSales {
  readonly action: string;
  readonly sales: number;
  readonly views?: number | undefined;
}

/**
 * The sales of a model's option `prior`. A model with features knows only the actions of its catalogue.
 * @throws {TypeError | RangeError} naming the field, also for a policy that takes no prior.
 */
export function checkedSales(
  prior: { readonly sales: readonly PriorSales[] },
  policy: Policy,
  catalogue: readonly Action[],
): readonly PriorSales[] {
  onlyKeys("prior", record("prior", prior), ["sales"]);
  if (!policy.takesPrior) throw outOfRange("prior", `none, as ${policy.id} takes no prior`, prior);
  if (!Array.isArray(prior.sales)) throw wrongType("prior.sales", "an array", prior.sales);
  const ids = new Set(catalogue.map(({ id }) => id));
  for (const [i, each] of prior.sales.entries()) {
    const name = `prior.sales[${i}]`;
    onlyKeys(name, record(name, each), ["action", "sales", "views"]);
    if (policy.dimension > 0 && !ids.has(each.action))
      throw outOfRange(`${name}.action`, "the id of an action of the catalogue", each.action);
    finiteNumber(`${name}.sales`, each.sales, 0);
    if (each.views !== undefined) finiteNumber(`${name}.views`, each.views, 0);
  }
  return prior.sales;
}

/**
 * Tells a policy what actions sold before, instead of what it was told so. Changes nothing in a policy that takes no prior. One that looks at
 * features takes the actions of the catalogue, as they are in no context. Another one takes all by their ids.
 */
export function tellPrior(policy: Policy, sales: readonly PriorSales[], catalogue: readonly Action[], { vector }: Featurizer): void {
  if (!policy.takesPrior) return;
  const actions = new Map(catalogue.map((action) => [action.id, action]));
  const known = policy.dimension > 0 ? sales.filter(({ action }) => actions.has(action)) : sales;
  const products = known.map(({ action: id, ...counts }) => {
    if (policy.dimension === 0) return { id, ...counts };
    const own = vector(undefined, actions.get(id) as Action);
    // Without an encoder, the numbers of the context come first.
    const features = new Float64Array(policy.dimension);
    features.set(own, policy.dimension - own.length);
    return { id, features, ...counts };
  });
  policy.prior(products);
}
