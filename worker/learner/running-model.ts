import { SnapshotError } from "afterclick";
import type { Featurizer } from "../../publication/featurizer.ts";
import type { Served } from "../domain/catalogue/served.ts";
import { shardOf } from "../domain/ids/shard.ts";
import { EncodingReport, withVocabulary } from "../domain/model/encoding.ts";
import { featurizer, type ModelConfig } from "../domain/model/model.ts";
import { type Policies, restorePolicies } from "../domain/model/policies.ts";
import { relearntModel } from "../domain/model/relearnt-model.ts";
import type { Environment } from "../environment.ts";
import { Problem, unknownModel } from "../protocol/problem.ts";
import { learner } from "../rpc/learner-client.ts";
import { Admission } from "./admission.ts";
import { ClosedWindows } from "./closed-windows.ts";
import type { Coordinator } from "./coordinator.ts";
import { LiveModel } from "./live-model.ts";
import type { Relearning } from "./relearning.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** Objects made from one configuration. */
export interface Model {
  readonly config: ModelConfig;
  /** Makes feature vectors. Throws 409 if an earlier encoder made those that the model has learnt. */
  readonly featurize: () => Featurizer;
  readonly live: LiveModel;
  readonly admission: Admission;
  readonly report: EncodingReport;
  readonly closed: ClosedWindows;
}

/** The model of one learner while it runs: the objects of its configuration, and its policies. */
export class RunningModel {
  readonly #env: Environment;
  readonly #store: LearnerStore;
  readonly #coordinator: Coordinator;
  readonly #relearning: Relearning;
  readonly #hurry: () => Promise<void>;
  #model?: Model;

  /** @param hurry makes the alarm ring, which learns the log again. */
  constructor(env: Environment, store: LearnerStore, coordinator: Coordinator, relearning: Relearning, hurry: () => Promise<void>) {
    this.#env = env;
    this.#store = store;
    this.#coordinator = coordinator;
    this.#relearning = relearning;
    this.#hurry = hurry;
  }

  /** The objects of the stored configuration. After a change of configuration or a reset, they are made anew. */
  known(): Model {
    if (!this.#store.exists) throw unknownModel();
    if (!this.#model?.live.isCurrent) {
      const { config } = this.#store;
      const live = new LiveModel(this.#store, config);
      this.#model = {
        config,
        featurize: once(() => featurizer(config)),
        live,
        admission: new Admission(this.#store, config),
        report: new EncodingReport(config),
        closed: new ClosedWindows(this.#store.impressions, config.window.ms),
      };
    }
    return this.#model;
  }

  /**
   * The running policies. If another version of this worker wrote their state, the log is learnt again.
   * @throws {Problem} 503 until that is done.
   */
  async policies(): Promise<Policies> {
    try {
      this.known().featurize();
      return await this.#started();
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      await this.recover();
      const { done, rows } = this.#relearning.progress(Date.now()) ?? { done: 0, rows: 0 };
      throw new Problem(503, `another version of this worker wrote the model's state; its log is learnt again: ${done} of ${rows} rows`);
    }
  }

  /** Starts the model. If it has learnt rewards beyond the range, as earlier versions did, it learns its log again meanwhile. */
  async #started(): Promise<Policies> {
    if (this.#store.hasLearntBeyondRange) await this.recover();
    return this.known().live.start();
  }

  /** The policies that decide: those of this learner, or those with the sums of all shards. */
  async publicPolicies(): Promise<Policies> {
    const policies = await this.policies();
    return this.#store.coordinates ? this.#coordinator.policies() : policies;
  }

  /** The policies by which the model decides now. A shard asks its coordinator. */
  async decidingPolicies(): Promise<Policies> {
    const { model, shard } = shardOf(this.#store.name);
    if (shard === 0) return this.publicPolicies();
    const { bytes } = await learner(this.#env, model, (stub) => stub.snapshot());
    return restorePolicies([bytes]);
  }

  /** Learns the log again because the state cannot be read. A shard asks its coordinator, so that all do it. */
  async recover(): Promise<void> {
    if (this.#relearning.isRunning) return;
    const { model, shard } = shardOf(this.#store.name);
    if (shard > 0) await learner(this.#env, model, (stub) => stub.relearn(null));
    else await this.relearn(await relearntModel({}, this.#store.config));
  }

  /** Begins to learn the log again. The alarm does it page by page, and tells the other shards. */
  async relearn(config: ModelConfig): Promise<void> {
    const { relearning, relearnt, catalogue } = this.#store;
    const startedAt = Math.max(Date.now(), (relearning.begun ?? relearnt ?? { startedAt: 0 }).startedAt + 1);
    this.#relearning.begin(withVocabulary(config, catalogue.actions), startedAt);
    await this.#hurry();
  }

  /** The version of the policies that decide. */
  get version(): number {
    return this.#store.coordinates ? this.#store.editions.newestVersion() : this.#store.seq;
  }

  served(policies: Policies): Served {
    const { config, featurize } = this.known();
    return { config, featurize: featurize(), catalogue: this.#store.catalogue, policies, version: this.#store.seq };
  }

  /** The digest of a version. Null if this version of the worker does not read the state. Its log can be exported all the same. */
  async digest(): Promise<{ readonly digest: string | null; readonly version: number }> {
    if (this.#store.coordinates) {
      const version = this.#store.editions.newestVersion();
      return { digest: this.#store.shards.markOf(version)?.digest ?? null, version };
    }
    try {
      const [{ policy }] = await this.#started();
      return { digest: policy.digest(), version: this.#store.seq };
    } catch (error) {
      if (isUnreadable(error)) return { digest: null, version: this.#store.seq };
      throw error;
    }
  }
}

/** Whether an error says that another version of this worker wrote the state. */
function isUnreadable(error: unknown): boolean {
  return error instanceof SnapshotError || (error instanceof Problem && error.status === 409);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
