// Orders the other shards of a model, and merges their sums. It does nothing if there are none.

import { shardName } from "../../domain/ids/shard.ts";
import { inform } from "../../domain/model/inform.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import { mergedPolicies, type Policies, partsOf, restorePolicies } from "../../domain/model/policies.ts";
import type { StoredSnapshot } from "../../domain/model/publication.ts";
import type { Environment } from "../../environment.ts";
import { Problem } from "../../protocol/problem.ts";
import type { LearnerRpc } from "../../rpc/learner.ts";
import { learner, Unreachable } from "../../rpc/learner-client.ts";
import type { Allowance, Answer, Order } from "../../rpc/message.ts";
import type { LearningModel } from "../model/learning-model.ts";
import type { ModelHolder } from "../model/model-holder.ts";
import type { Relearning } from "../model/relearning.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Shard } from "../store/shard-store.ts";
import { Turns } from "../turns.ts";
import { allotted, committedTo, isShort } from "./allotment.ts";

const NOTHING: Allowance = { open: 0, bytes: 0, deferred: 0 };

/** A question to another shard. */
type Ask<T> = (stub: DurableObjectStub<LearnerRpc>, shard: number) => Promise<Answer<T>>;

/**
 * The coordinator of a model's shards, which is shard 0. It gives orders to the others, collects their sums and merges them into one
 * snapshot. A shard that does not answer is represented by the sums that it sent last. Orders go out one after the other. A learner without
 * other shards is the whole model: nothing is collected, and its own state is the model's.
 */
export class Coordinator {
  readonly #env: Environment;
  readonly #store: LearnerStore;
  readonly #current: ModelHolder;
  readonly #turns = new Turns();
  #restored?: { readonly version: number; readonly policies: Policies };

  constructor(env: Environment, store: LearnerStore, current: ModelHolder) {
    this.#env = env;
    this.#store = store;
    this.#current = current;
  }

  /** Asks the other shards, in the order of their numbers. A shard that is gone already answers with nothing. */
  askOthers<T>(ask: Ask<T>): Promise<(T | undefined)[]> {
    const { name, config, coordinates } = this.#store.model;
    return Promise.all(
      (coordinates ? others(config) : []).map((shard) =>
        learner(this.#env, shardName(name, shard), (stub) => ask(stub, shard)).catch((error) => {
          if (error instanceof Problem && error.status === 404) return undefined;
          throw error;
        }),
      ),
    );
  }

  /** The answer of this learner, then those of the other shards. */
  async withOthers<T>(own: T, ask: Ask<T>): Promise<T[]> {
    return [own, ...(await this.askOthers(ask)).filter((each) => each !== undefined)];
  }

  /** The version of the policies that decide. */
  get version(): number {
    return this.#store.model.coordinates ? this.#store.editions.newestVersion() : this.#store.seq;
  }

  /** Collects the sums of other shards, if there are any, so that a log can end with them. */
  async collect(): Promise<void> {
    if (this.#store.model.coordinates) await this.gather({ keep: false });
  }

  /** Keeps a snapshot of the model as isolates get it. */
  async keepEdition(): Promise<void> {
    const { live } = this.#current.get();
    await (this.#store.model.coordinates ? this.gather({ keep: true }) : live.snapshot());
  }

  /**
   * Collects the sums of all shards and merges them.
   * @param keep keeps the result, and the sums in each shard, for a rollback.
   * @throws {Problem} 503 while a shard has not taken part since its creation, the last rollback or the last relearning.
   */
  gather({ keep }: { readonly keep: boolean }): Promise<void> {
    return this.#turns.take(async () => {
      await this.#orderAll(keep);
      await this.#merge(keep);
    });
  }

  /** Tells all shards what to do. Those that cannot be reached hear of it later. */
  async announce(): Promise<void> {
    if (this.#store.model.coordinates) await this.#turns.take(() => this.#orderAll(false));
  }

  /**
   * Gives the model to what all shards have learnt again. The shards that do not hear of it at once take over when they do. A model of
   * one shard goes the same way, because a second one may be on its way.
   * @returns whether it did: not before all shards have learnt their logs but for a page each.
   */
  takeOver(relearning: Relearning): Promise<boolean> {
    return this.#turns.take(async () => {
      const { shards } = this.#store;
      const { coordinates, term } = this.#store.model;
      const startedAt = this.#store.relearning.begun?.startedAt;
      const caughtUp = !coordinates || (await this.#orderAll(false));
      if (!caughtUp || this.#store.model.term !== term || this.#store.relearning.begun?.startedAt !== startedAt) return false;
      return relearning.takeOver({}, () => {
        shards.merged.deleteAfter(-1);
        this.#store.raiseTerm();
        for (const shard of shards.numbers()) shards.sendBack(shard, null);
      });
    });
  }

  /** Gives all shards an order. Returns whether all have done it and have learnt their logs again. */
  async #orderAll(keep: boolean): Promise<boolean> {
    const { config } = this.#store.model;
    await Promise.allSettled(this.#unknown(config).map((shard) => this.#order(shard, config, NOTHING, true)));
    const given = this.#allot(config);
    const answers = await this.#orderEach(others(config), given, keep);
    // A shard gets more only after the others have confirmed less.
    const more = this.#allot(config);
    const short = others(config).filter((shard) => isShort(given[shard], more[shard]));
    await this.#orderEach(short, more, keep);
    const failed = answers.filter(({ status }) => status === "rejected");
    this.#store.transact(() => this.#store.database.count("unanswered", failed.length));
    return answers.every((answer) => answer.status === "fulfilled" && answer.value);
  }

  #orderEach(shards: readonly number[], allowances: readonly Allowance[], keep: boolean): Promise<PromiseSettledResult<boolean>[]> {
    const { config } = this.#store.model;
    const unknown = this.#unknown(config);
    const orders = shards.map((shard) => this.#order(shard, config, unknown.includes(shard) ? NOTHING : allowances[shard], keep));
    return Promise.allSettled(orders);
  }

  /**
   * Makes new shards of a configuration that the model is about to get, unless the model has changed since. Before an isolate hears of
   * them, they have their parts of the limits.
   * @param since the epoch of the store in which that one was made. @throws {Problem} 503 if a new shard cannot be reached.
   */
  admit(config: ModelConfig, since: number): Promise<void> {
    return this.#turns.take(async () => {
      if (this.#store.epoch !== since) return;
      const present = others(this.#store.model.config);
      const fresh = others(config).slice(present.length);
      const orderNew = (allowances?: readonly Allowance[]) =>
        Promise.all(fresh.map((shard) => this.#order(shard, config, allowances?.[shard] ?? NOTHING, true)));
      await orderNew();
      await this.#orderEach(present, this.#allot(config), false);
      await orderNew(this.#allot(config));
    });
  }

  /** Shards that have not answered yet in this generation. Until they have, they get no allowance, because their answer may be lost. */
  #unknown(config: ModelConfig): number[] {
    return others(config).filter((shard) => !this.#store.shards.find(shard));
  }

  /** The shards' parts of the limits, by their numbers. This shard takes its own at once, so that the others may get what it gives up. */
  #allot(config: ModelConfig): Allowance[] {
    this.#store.transact(() => this.#store.grant(this.#allowances(config)[0]));
    return this.#allowances(config);
  }

  #allowances(config: ModelConfig): Allowance[] {
    const { used, shards, model } = this.#store;
    const parts = others(config).map((shard) => shards.find(shard) ?? { used: NOTHING, committed: NOTHING });
    return allotted(config.limits, [{ used, committed: committedTo(model.granted ?? model.config.limits, used) }, ...parts]);
  }

  /** Returns whether the shard has learnt its log again, but for a page at most. */
  async #order(shard: number, config: ModelConfig, allowance: Allowance, keep: boolean): Promise<boolean> {
    const { catalogue, configuredAt } = this.#store;
    const { name: model, generation, term, horizon, homes } = this.#store.model;
    const { begun, last: relearnt } = this.#store.relearning;
    const known = this.#store.shards.find(shard);
    const actions = known?.catalogue === catalogue.version ? null : catalogue.actions;
    const order: Order = {
      ...{ generation, config, configuredAt, horizon, homes, allowance, term, keep },
      catalogue: { version: catalogue.version, actions },
      back: known?.back ?? null,
      relearning: begun ? { config: begun.config, startedAt: begun.startedAt } : null,
      relearnt,
      held: known?.seq ?? -1,
    };
    // Before the order leaves, because its answer may be lost.
    if (known) this.#store.transact(() => this.#store.shards.commit(shard, committedTo(allowance, known.committed)));
    const name = shardName(model, shard);
    const { seq, parts, used, caughtUp } = await learner(this.#env, name, (stub) => stub.follow(name, order));
    // A reset or a rollback was faster.
    if (this.#store.model.generation !== generation || this.#store.model.term !== term) return false;
    const answered: Shard = {
      ...{ seq, term, used, catalogue: catalogue.version, first: known?.first ?? seq, back: known?.back ?? null },
      committed: committedTo(allowance, used),
    };
    this.#store.transact(() => this.#store.shards.put(shard, answered, parts as Uint8Array[] | null));
    return caughtUp;
  }

  async #merge(keep: boolean): Promise<void> {
    const { shards, epoch } = this.#store;
    const { term, config } = this.#store.model;
    const rows = others(config).map((shard) => shards.find(shard));
    if (rows.some((row) => row?.term !== term)) {
      throw new Unreachable("a shard of the model has not been reached since it was made, rolled back or relearnt");
    }
    const own = await newestSums(this.#store, this.#current.get().live, keep);
    const seqs = [own.seq, ...(rows as Shard[]).map(({ seq }) => seq)];
    const version = shards.merged.newestVersion();
    const isKept = !keep || shards.merged.versions()[0] === version;
    if (isKept && !this.#store.hasChangedAfter(version) && shards.markOf(version)?.shards.join() === seqs.join()) return;
    const sums = [own.parts, ...others(config).map((shard) => shards.sumsOf(shard) as Uint8Array[])];
    const policies = await mergedPolicies(sums);
    inform(policies, config, this.#store.catalogue.actions);
    if (this.#store.epoch !== epoch) throw new Problem(503, "the model is starting again");
    const parts = partsOf(policies);
    const mark = { digest: policies[0].policy.digest(), shards: seqs };
    this.#store.transact(() => shards.saveMerged(parts, mark, keep));
    this.#restored = { version: shards.merged.newestVersion(), policies };
  }

  /** The policies that decide: those of this learner, or merged ones. Those only decide: whatever they learnt would be lost. */
  async deciding(own: Policies): Promise<Policies> {
    return this.#store.model.coordinates ? this.merged() : own;
  }

  /** The policies with the sums of all shards. @throws {Problem} 503 while a shard has not taken part. */
  async merged(): Promise<Policies> {
    const { merged } = this.#store.shards;
    const version = merged.newestVersion();
    if (this.#restored?.version !== version) {
      const newest = merged.newest();
      if (!newest) throw new Unreachable("a shard of the model has not been reached since it was made or relearnt");
      this.#restored = { version, policies: await restorePolicies(newest.parts) };
    }
    return this.#restored.policies;
  }

  /**
   * Takes all shards back to a kept version. Those that cannot be reached any more go back as soon as they can.
   * @throws {Problem} 409 if a shard does not keep the version, 503 if one cannot be reached, or the version is not kept any more.
   */
  rollBack(version: number): Promise<void> {
    if (!this.#store.model.coordinates) return this.#current.get().live.rollBack(version);
    return this.#turns.take(async () => {
      const { shards } = this.#store;
      const { name, config, term } = this.#store.model;
      const kept = shards.merged.kept(version);
      const mark = shards.markOf(version);
      if (!kept || !mark) throw new Problem(503, "the model is starting again");
      // A shard that is younger than the version goes back to its beginning.
      const backs = others(config).map((shard) => mark.shards[shard] ?? (shards.find(shard) as Shard).first);
      const keeps = await Promise.all(
        others(config).map((shard) => learner(this.#env, shardName(name, shard), (stub) => stub.keeps(backs[shard - 1]))),
      );
      if (keeps.includes(false)) throw new Problem(409, `version: shard ${keeps.indexOf(false) + 1} does not keep its part of ${version}`);
      await this.#current.get().live.rollBack(mark.shards[0], () => {
        shards.merged.deleteAfter(version);
        shards.saveMerged(kept.parts, mark, true);
        this.#store.raiseTerm();
        for (const shard of shards.numbers()) {
          const known = shards.find(shard) as Shard;
          // A shard that is about to be added has learnt nothing. If it has missed an earlier takeover, it follows that one.
          shards.sendBack(shard, backs[shard - 1] ?? (known.term === term ? known.first : known.back));
        }
      });
    });
  }
}

/** The newest sums of a learner. If nothing was learnt since the last ones, they are the same. @param keep keeps them for a rollback. */
export async function newestSums(store: LearnerStore, live: LearningModel, keep: boolean): Promise<StoredSnapshot> {
  const { snapshots } = store;
  await live.start();
  const version = keep ? snapshots.versions()[0] : snapshots.newestVersion();
  if (version !== undefined && version >= 0 && store.isUnchangedAfter(version)) {
    return (keep ? snapshots.kept(version) : snapshots.newest()) as StoredSnapshot;
  }
  if (!keep) return live.newest();
  await live.snapshot();
  return snapshots.newest() as StoredSnapshot;
}

/** Numbers of the shards beside the coordinator. */
const others = ({ shards }: Pick<ModelConfig, "shards">): number[] => Array.from({ length: shards - 1 }, (_, i) => i + 1);
