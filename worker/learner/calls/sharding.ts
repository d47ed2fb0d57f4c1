import { unknownModel } from "../../protocol/problem.ts";
import type { Implemented, ShardRpc } from "../../rpc/learner.ts";
import type { Note, Order, Sums } from "../../rpc/message.ts";
import type { Parts } from "../parts.ts";
import { newestSums } from "../shards/coordinator.ts";
import { follow } from "../shards/following.ts";
import { firstBucket } from "./administration.ts";

/** Answers the other shards of the model. */
export class Sharding implements Implemented<ShardRpc> {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async snapshot(): Promise<{ readonly version: number; readonly bytes: Uint8Array }> {
    const { store, current, running, coordinator } = this.#parts;
    current.get();
    if (store.model.coordinates) {
      const [policy] = await coordinator.merged();
      return { version: coordinator.version, bytes: policy.snapshot() };
    }
    await running.policies();
    const { seq, parts } = await current.get().live.newest();
    return { version: seq, bytes: parts[0] };
  }

  async follow(name: string, order: Order): Promise<Sums> {
    const { env, store, current, running, relearning, upkeep } = this.#parts;
    try {
      await follow(this.#parts, name, order, firstBucket(env, order.config));
      // A short log is learnt at once.
      if (relearning.isRunning && !relearning.isCaughtUp) await upkeep.attempt(() => relearning.step());
    } finally {
      if (relearning.isRunning && !relearning.isCaughtUp) await upkeep.hurry();
    }
    const common = { used: store.used, caughtUp: relearning.isCaughtUp };
    const isUnreadable = (await running.digest()).digest === null;
    if (isUnreadable && order.relearning && order.held >= 0) return { ...common, seq: order.held, parts: null };
    await running.policies();
    const { seq, parts } = await newestSums(store, current.get().live, order.keep);
    store.transact(() => store.setPublished(store.seq, Date.now()));
    return { ...common, seq, parts: seq === order.held ? null : parts };
  }

  async keeps(version: number): Promise<boolean> {
    const { store } = this.#parts;
    return store.exists && store.snapshots.kept(version) !== undefined;
  }

  async gather(shard: number): Promise<boolean> {
    const { store, publishing, upkeep } = this.#parts;
    if (!store.exists) throw unknownModel();
    // A new shard may be ahead of the configuration.
    if (store.model.coordinates) await upkeep.now(() => publishing.publish());
    return store.model.config.shards > shard;
  }

  async link(notes: readonly Note[], shard: number): Promise<null> {
    this.#parts.current.get();
    await this.#parts.keyHome.link(notes, shard);
    return null;
  }

  async knows(key: string): Promise<boolean> {
    return this.#parts.store.exists && this.#parts.keyHome.knows(key);
  }
}
