// Follows the orders of a coordinator. Each may come twice.

import { isSame, type ModelConfig } from "../../domain/model/model.ts";
import { Problem } from "../../protocol/problem.ts";
import type { Order } from "../../rpc/message.ts";
import type { ModelHolder } from "../model/model-holder.ts";
import type { Relearning } from "../model/relearning.ts";
import type { LearnerStore } from "../store/learner-store.ts";

interface Shard {
  readonly store: LearnerStore;
  readonly relearning: Relearning;
  readonly current: ModelHolder;
  /** @see Archive.abandon */
  readonly abandon: (change: () => Promise<void>) => Promise<void>;
}

/**
 * Makes a shard what its coordinator says. A repeated order changes nothing.
 * @param name of the shard. @param watermark of a shard that does not exist yet.
 * @throws {Problem} 409 if the shard has followed a later order of another generation or term, 503 if it has not learnt its log again.
 */
export async function follow(shard: Shard, name: string, order: Order, watermark: number): Promise<void> {
  const { store, relearning, current, abandon } = shard;
  const { generation, config, homes, horizon, catalogue, term, back } = order;
  const isNew = !store.exists;
  if (isNew) store.create({ name, config, generation, watermark, homes });
  if (store.model.generation > generation) {
    throw new Problem(409, `the shard is of generation ${store.model.generation}, and the order of the earlier ${generation}`);
  }
  if (isNew) store.transact(() => store.beginAt(horizon, term));
  if (store.model.generation < generation) {
    await abandon(async () => {
      if (!store.exists || store.model.generation >= generation) return;
      store.reset(config, generation, homes);
      store.transact(() => store.beginAt(horizon, term));
    });
    return follow(shard, name, order, watermark);
  }
  if (store.model.term < term) {
    const raised = () => store.raiseTerm(term);
    if (back !== null) await current.get().live.rollBack(back, raised);
    else if (order.relearnt) await takeOver({ store, relearning }, { ...order.relearnt, config }, raised);
    if (store.model.term < term) throw new Problem(503, "the shard has not learnt its log again");
  }
  if (store.model.term > term) throw new Problem(409, `the shard is of term ${store.model.term}, and the order of the earlier ${term}`);
  if (!isSame(store.model.config, config)) store.reconfigure(config, order.configuredAt);
  if (catalogue.actions && store.model.coordinated !== catalogue.version) store.coordinate(catalogue.actions, catalogue.version);
  const begun = order.relearning;
  if (begun) beginAs(begun, { store, relearning });
  store.transact(() => store.grant(order.allowance));
}

type ModelOf = { readonly config: ModelConfig; readonly startedAt: number; readonly at: number };
type Learning = Pick<Shard, "store" | "relearning">;

/** Begins a relearning, unless that runs. */
function beginAs(
  { config, startedAt }: { readonly config: ModelConfig; readonly startedAt: number },
  { store, relearning }: Learning,
): void {
  if (store.relearning.begun?.startedAt !== startedAt) relearning.begin(config, startedAt);
}

/** Takes over what the shard has learnt again. Not before it has caught up, so that the transaction stays short. */
async function takeOver(learning: Learning, of: ModelOf, raised: () => void): Promise<void> {
  beginAs(of, learning);
  if (!learning.relearning.isCaughtUp) await learning.relearning.step();
  if (learning.relearning.isCaughtUp) await learning.relearning.takeOver(of, raised);
}
