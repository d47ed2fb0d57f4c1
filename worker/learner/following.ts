import { isSame } from "../domain/model.ts";
import { Problem } from "../protocol/problem.ts";
import type { Order } from "../rpc/message.ts";
import type { LiveModel } from "./live-model.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/**
 * Makes a shard what its coordinator says. A repeated order changes nothing.
 * @param name of the shard. @param watermark of a shard that does not exist yet. @param live the running model of the shard.
 * @throws {Problem} 409 if the shard is of a later generation than the order.
 */
export async function follow(store: LearnerStore, name: string, order: Order, watermark: number, live: () => LiveModel): Promise<void> {
  const { generation, config, homes, horizon, catalogue, term, back } = order;
  const isNew = !store.exists;
  if (isNew) store.create({ name, config, generation, watermark, homes });
  if (store.generation > generation) {
    throw new Problem(409, `the shard is of generation ${store.generation}, and the order of the earlier ${generation}`);
  }
  const isReset = store.generation < generation;
  if (isReset) store.reset(config, generation, homes);
  if (isNew || isReset) store.transact(() => store.beginAt(horizon, term));
  if (!isSame(store.config, config)) store.reconfigure(config);
  if (catalogue.actions && store.coordinated !== catalogue.version) store.coordinate(catalogue.actions, catalogue.version);
  if (store.term < term && back !== null) await live().rollBack(back, () => store.raiseTerm(term));
  store.transact(() => store.allow(order.allowance));
}
