// Starts, restores and replaces the policies of a learner, and says what serves while their state cannot be read.

import { SnapshotError } from "afterclick";
import type { Featurizer } from "afterclick/research";
import type { Served } from "../../domain/decision/served.ts";
import { unlearnt } from "../../domain/decision/unlearnt-model.ts";
import { shardOf } from "../../domain/ids/shard.ts";
import { withVocabulary } from "../../domain/model/encoding.ts";
import { type ModelConfig, startModel } from "../../domain/model/model.ts";
import { type Policies, restorePolicies } from "../../domain/model/policies.ts";
import { relearntModel } from "../../domain/model/relearnt-model.ts";
import type { Environment } from "../../environment.ts";
import { Problem } from "../../protocol/problem.ts";
import { learner } from "../../rpc/learner-client.ts";
import type { Coordinator } from "../shards/coordinator.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Upkeep } from "../upkeep/upkeep.ts";
import type { LearningModel } from "./learning-model.ts";
import type { Model, ModelHolder } from "./model-holder.ts";
import type { Relearning } from "./relearning.ts";

/** The objects of a learner that its running policies need. */
interface Surroundings {
  readonly env: Environment;
  readonly store: LearnerStore;
  readonly current: ModelHolder;
  readonly coordinator: Coordinator;
  readonly relearning: Relearning;
  readonly upkeep: Upkeep;
}

/** What serves while the state cannot be read. */
interface StandIn {
  readonly live: LearningModel;
  readonly unlearnt: Omit<Served, "catalogue" | "version">;
  readonly checking: Policies;
}

/** The policies of one learner while they run. */
export class RunningPolicies {
  readonly #parts: Surroundings;
  #stoodIn?: StandIn;

  constructor(parts: Surroundings) {
    this.#parts = parts;
  }

  /**
   * The running policies. If another version of this worker wrote their state, the log is learnt again.
   * @throws {Problem} 503 until that is done.
   */
  async policies(): Promise<Policies> {
    const policies = await this.readable();
    if (policies) return policies;
    const { done, rows } = this.#parts.relearning.progress(Date.now()) ?? { done: 0, rows: 0 };
    throw new Problem(503, `another version of this worker wrote the model's state; its log is learnt again: ${done} of ${rows} rows`);
  }

  /** The running policies. Undefined if another version of this worker wrote their state: then the log is learnt again. */
  async readable({ live } = this.#parts.current.get()): Promise<Policies | undefined> {
    try {
      return await live.start();
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      await this.recover();
      return undefined;
    }
  }

  /** The model by which decisions are made, with the running policies. These are undefined if the state cannot be read. */
  async deciding(): Promise<{ readonly served: Served; readonly policies: Policies | undefined }> {
    const policies = await this.readable();
    const { version } = this.#parts.coordinator;
    if (policies) return { policies, served: { ...this.served(await this.#parts.coordinator.deciding(policies)), version } };
    return { policies, served: { ...(await this.#standIn()).unlearnt, catalogue: this.#parts.store.catalogue, version } };
  }

  /** The policies of a model that append impressions, if they run, and others that only check features. */
  async taking(model: Model): Promise<{ readonly policies?: Policies; readonly checking: Policies; readonly featurize: Featurizer }> {
    const policies = await this.readable(model);
    if (policies) return { policies, checking: policies, featurize: model.featurize() };
    const { unlearnt, checking } = await this.#standIn();
    return { checking, featurize: unlearnt.featurize };
  }

  async #standIn(): Promise<StandIn> {
    const { live, config } = this.#parts.current.get();
    if (this.#stoodIn?.live !== live) {
      const served = await unlearnt(config);
      this.#stoodIn = { live, unlearnt: served, checking: await startModel(served.config) };
    }
    return this.#stoodIn;
  }

  /** The policies that decide: those of this learner, or those with the sums of all shards. */
  async publicPolicies(): Promise<Policies> {
    return this.#parts.coordinator.deciding(await this.policies());
  }

  /** Whether the model has learnt an impression. @throws {Problem} as `policies`. */
  async hasLearnt(): Promise<boolean> {
    await this.#parts.coordinator.collect();
    const [{ policy }] = await this.publicPolicies();
    return policy.impressions > 0;
  }

  /** The model by which an impression of this learner is explained. A shard asks its coordinator. */
  async explaining(): Promise<Served> {
    const { model, shard } = shardOf(this.#parts.store.model.name);
    const { served, policies } = await this.deciding();
    if (shard === 0 || !policies) return served;
    const { bytes } = await learner(this.#parts.env, model, (stub) => stub.snapshot());
    return this.served(await restorePolicies([bytes]));
  }

  /** Learns the log again because the state cannot be read. A shard asks its coordinator, so that all do it. */
  async recover(): Promise<void> {
    if (this.#parts.relearning.isRunning) return;
    const { model, shard } = shardOf(this.#parts.store.model.name);
    if (shard > 0) await learner(this.#parts.env, model, (stub) => stub.relearn(null));
    else await this.relearn(await relearntModel({}, this.#parts.store.model.config));
  }

  /** Begins to learn the log again. The alarm does it page by page, and tells the other shards. */
  async relearn(config: ModelConfig): Promise<void> {
    const { relearning, catalogue } = this.#parts.store;
    const startedAt = Math.max(Date.now(), (relearning.begun ?? relearning.last ?? { startedAt: 0 }).startedAt + 1);
    this.#parts.relearning.begin(withVocabulary(config, catalogue.actions), startedAt);
    await this.#parts.upkeep.hurry();
  }

  served(policies: Policies): Served {
    const { config, featurize } = this.#parts.current.get();
    return { config, featurize: featurize(), catalogue: this.#parts.store.catalogue, policies, version: this.#parts.store.seq };
  }

  /** The digest of a version. Null if this version of the worker does not read the state. Its log can be exported all the same. */
  async digest(): Promise<{ readonly digest: string | null; readonly version: number }> {
    const { version } = this.#parts.coordinator;
    if (this.#parts.store.model.coordinates) return { digest: this.#parts.store.shards.markOf(version)?.digest ?? null, version };
    try {
      const [{ policy }] = await this.#parts.current.get().live.start();
      return { digest: policy.digest(), version: this.#parts.coordinator.version };
    } catch (error) {
      if (error instanceof SnapshotError) return { digest: null, version: this.#parts.coordinator.version };
      throw error;
    }
  }
}
