import { changeBetween, checkActions } from "../../domain/catalogue/catalogue.ts";
import type { KeyHashes, RequestKeys } from "../../domain/ids/join-key.ts";
import { shardName } from "../../domain/ids/shard.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { bucketAt } from "../../domain/impression/bucket.ts";
import { checkCandidates, checkNumbers } from "../../domain/model/capacity.ts";
import { asExported, withVocabulary } from "../../domain/model/encoding.ts";
import {
  type Conflict,
  checkGrows,
  configureModel,
  featurizer,
  isSame,
  type ModelConfig,
  reconfigureModel,
  renewed,
} from "../../domain/model/model.ts";
import { relearntModel } from "../../domain/model/relearnt-model.ts";
import { type Environment, graceMs } from "../../environment.ts";
import type { CatalogueVersion, Imported, Rollback } from "../../protocol/answers.ts";
import { Problem, unknownModel } from "../../protocol/problem.ts";
import type { Action, ActionsPatch, ModelBody, ModelPatch } from "../../protocol/schema.ts";
import type { AdministrationRpc, Implemented } from "../../rpc/learner.ts";
import type { PastLine } from "../../rpc/message.ts";
import { isOfNamesake } from "../model/ledger.ts";
import { oldestOf } from "../model/past-rows.ts";
import type { Parts } from "../parts.ts";
import { pastRowsOf } from "./registration/rows.ts";

/** Changes a model: its configuration, its catalogue and its data. */
export class Administration implements Implemented<AdministrationRpc> {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async configure(name: string, body: ModelBody): Promise<{ readonly created: boolean }> {
    const { env, store, coordinator, publishing, upkeep } = this.#parts;
    const { epoch } = store;
    const stored = store.exists ? store.model.config : undefined;
    const config = await (stored ? reconfigureModel(body, stored) : configureModel(body));
    // Another call has changed it meanwhile.
    if (store.epoch !== epoch) return this.configure(name, body);
    if ("conflict" in config) {
      await this.#renew(name, config, body);
      return this.configure(name, body);
    }
    if (stored && isSame(stored, config)) return { created: false };
    const now = Date.now();
    if (stored && config.shards > stored.shards) {
      await coordinator.admit(config, epoch);
      if (store.epoch !== epoch) return this.configure(name, body);
    }
    if (stored) store.reconfigure(config);
    else store.create({ name, config, generation: now, watermark: firstBucket(env, config), homes: config.shards });
    await upkeep.now(() => publishing.publish());
    return { created: !stored };
  }

  /**
   * Gives a model that has learnt no impression yet the configuration under which the learnt state would not be valid.
   * @throws {Problem} 409 if it has learnt, or its log cannot be learnt again under it.
   */
  async #renew(name: string, { conflict }: Conflict, body: ModelBody): Promise<void> {
    const { store, running, coordinator, relearning, publishing, upkeep } = this.#parts;
    const { epoch } = store;
    const relearnt = await this.#relearnable(body).catch(() => null);
    const hasLearnt = relearnt === null || (await running.hasLearnt().catch(() => true));
    if (store.epoch !== epoch) return;
    if (hasLearnt) throw otherConfiguration(name, conflict, relearnt !== null);
    await running.relearn(relearnt);
    await relearning.step();
    if (!(await coordinator.takeOver(relearning))) throw new Problem(503, "a shard of the model cannot be reached; send the same again");
    await upkeep.now(() => publishing.publish());
  }

  /** The configuration under which the model learns its log again. @throws {Problem} 422 if it cannot. */
  async #relearnable(body: Partial<ModelBody>): Promise<ModelConfig> {
    const { store, relearning } = this.#parts;
    const config = withVocabulary(await relearntModel(body, store.model.config), store.catalogue.actions);
    await relearning.check(config);
    return config;
  }

  async reconfigure(body: ModelPatch): Promise<null> {
    const { store } = this.#parts;
    if (!store.exists) throw unknownModel();
    await this.configure(store.model.name, { window: store.model.config.window, ...body });
    return null;
  }

  async reset(body: ModelBody | null): Promise<null> {
    const { store, publishing, upkeep, abandon } = this.#parts;
    if (!store.exists) throw unknownModel();
    const { shards } = store.model.config;
    const given = body && (await configureModel({ shards, ...body }));
    if (given) checkGrows({ shards }, given);
    await abandon(async () => {
      if (!store.exists) throw unknownModel();
      const config = given ?? renewed(store.model.config);
      checkGrows(store.model.config, config);
      store.reset(withVocabulary(config, store.catalogue.actions), Math.max(Date.now(), store.model.generation + 1));
    });
    upkeep.disarm();
    await upkeep.now(() => publishing.publish());
    return null;
  }

  async relearn(body: ModelPatch | null): Promise<null> {
    const { store, running, coordinator } = this.#parts;
    if (!store.exists) throw unknownModel();
    if (!body) await running.recover();
    else {
      await running.relearn(await this.#relearnable(body));
      await coordinator.announce();
    }
    return null;
  }

  async rollBack(version?: number): Promise<Rollback> {
    const { store, running, coordinator, publishing, upkeep } = this.#parts;
    // Kept snapshots of another version cannot be read either.
    await running.policies();
    const kept = store.editions.list();
    if (version === undefined || !kept.some((each) => each.version === version)) throw notKept(kept, version);
    await coordinator.rollBack(version);
    await upkeep.now(() => publishing.publish());
    return { restored: version, modelVersion: store.seq, kept };
  }

  async remove(): Promise<null> {
    const { store, coordinator, publishing, upkeep, abandon } = this.#parts;
    const removed = async () => {
      if (!store.exists) throw unknownModel();
      // First, because it may fail, and then the model is still whole.
      if (store.model.shard === 0) await publishing.withdraw();
      await coordinator.askOthers((stub) => stub.remove());
      await store.deleteAll();
      upkeep.disarm();
    };
    await abandon(() => publishing.inTurn(removed));
    return null;
  }

  async removeArchive(name: string): Promise<null> {
    const { store, archive, coordinator } = this.#parts;
    if (store.exists) await coordinator.askOthers((stub, shard) => stub.removeArchive(shardName(name, shard)));
    await archive?.deleteAll(name);
    return null;
  }

  async changeActions(patch: ActionsPatch): Promise<CatalogueVersion> {
    this.#parts.current.get();
    return this.setActions(this.#parts.store.catalogue.with(patch));
  }

  async setActions(actions: readonly Action[]): Promise<CatalogueVersion> {
    const { store, current, publishing, upkeep } = this.#parts;
    const { config, featurize } = current.get();
    checkActions(actions);
    const { size, changed } = changeBetween(store.catalogue.actions, actions);
    // An unchanged catalogue gets no new version. The call still publishes what was learnt meanwhile.
    if (changed.length === 0 && size === store.catalogue.size) await upkeep.now(() => publishing.publish());
    else {
      checkCandidates(config, size);
      for (const [, action] of changed) featurize().vector(undefined, action);
      checkNumbers(config, size);
      const encoding = withVocabulary(config, actions);
      store.transact(() => {
        if (encoding !== config) store.reconfigure(encoding);
        store.catalogues.replace(actions);
      });
      await upkeep.now(() => (encoding === config ? publishing.publishCatalogue() : publishing.publish()));
    }
    return { actions: size, version: store.catalogue.version };
  }

  async importLog(lines: readonly PastLine[]): Promise<Imported> {
    const { store, current, running, publishing, upkeep } = this.#parts;
    const { config: before, featurize, admission } = current.get();
    if (before.shards > 1) throw new Problem(422, "shards: expected 1 during an import; set more afterwards");
    const policies = await running.policies();
    const hasLearnt = policies[0].policy.impressions > 0;
    const asMade = (own: ModelConfig, made: ModelConfig) => asExported(own, made, store.catalogue.actions, hasLearnt);
    const config = lines.reduce((own, line) => (line.type === "model" ? asMade(own, line.config) : own), before);
    const rows = pastRowsOf(lines, { store, config, featurize: config === before ? featurize() : featurizer(config), policies });
    const isOpen = (id: string) => shownAtOf(id) >= store.model.watermark;
    admission.check(rows.filter((row) => "features" in row && isOpen(row.id) && !store.impressions.registered(row.id, row.name)).length);
    if (config !== before) {
      store.transact(() => store.reconfigure(config));
      await upkeep.now(() => publishing.publish());
    }
    const informed = await running.policies();
    const { live } = current.get();
    const imported = { impressions: 0, repeated: 0, conversions: {} as Record<string, number> };
    live.takePast(informed, rows).forEach((status, i) => {
      if (!("features" in rows[i])) imported.conversions[status] = (imported.conversions[status] ?? 0) + 1;
      else imported[status === "registered" ? "impressions" : "repeated"]++;
    });
    if (rows.length > 0) await upkeep.arm(oldestOf(rows));
    return imported;
  }

  async erase(id: string, generation: number): Promise<boolean> {
    const { store, archive, keyHome, upkeep } = this.#parts;
    if (!store.exists || isOfNamesake(store, id, generation)) return false;
    if (shownAtOf(id) < store.model.horizon) return ((await archive?.erase([id]))?.size ?? 0) > 0;
    await this.#erase([id]);
    await archive?.erase([id]);
    await upkeep.attempt(() => keyHome.deliver());
    return true;
  }

  async joinKeys(keys: RequestKeys): Promise<number> {
    const { current, coordinator, keyHome, upkeep } = this.#parts;
    const { live } = current.get();
    // A key of a page and the same key of a backend stay apart.
    const joined = live.joinKeys(keys.backend) + live.joinKeys(keys.page);
    await upkeep.attempt(() => keyHome.deliver());
    const elsewhere = await coordinator.askOthers((stub) => stub.joinKeys(keys));
    return elsewhere.reduce((sum: number, count = 0) => sum + count, joined);
  }

  async eraseKey(hashes: KeyHashes): Promise<number> {
    const { store, current, coordinator, archive, keyHome, upkeep } = this.#parts;
    current.get();
    const erased = await this.#erase(store.impressions.keys.impressionsOf(hashes));
    store.transact(() => {
      store.conversions.eraseKey(hashes);
      store.links.eraseKey(hashes);
    });
    await upkeep.attempt(() => keyHome.deliver());
    const elsewhere = await coordinator.askOthers((stub) => stub.eraseKey(hashes));
    const archived = (await archive?.eraseKey(hashes)) ?? new Set();
    const here = erased + Array.from(archived).filter((id) => shownAtOf(id) < store.model.horizon).length;
    return elsewhere.reduce((sum: number, count = 0) => sum + count, here);
  }

  async #erase(ids: readonly string[]): Promise<number> {
    const { store, current, running, closing, publishing, upkeep } = this.#parts;
    const { live } = current.get();
    await running.policies();
    const { journal } = closing;
    // The journal of audited buckets has expired.
    const journalled = ids.filter((id) => shownAtOf(id) >= store.model.audited);
    await Promise.all(journalled.map((id) => journal.erase(id)));
    const left = ids.filter((id) => !store.impressions.find(id)?.erased);
    // The publication may hold a vector that is forgotten now.
    if (left.length > 0 && (await live.erase(left))) await upkeep.now(() => publishing.publish());
    return left.length;
  }

  async heal(): Promise<null> {
    const { store, coordinator, closing, keyHome, upkeep } = this.#parts;
    if (!store.exists) return null;
    upkeep.disarm();
    await upkeep.now(() => closing.close());
    await upkeep.attempt(() => keyHome.sendWaiting());
    await coordinator.askOthers((stub) => stub.heal());
    return null;
  }
}

/** Start of the oldest bucket that is open in a new model. */
export function firstBucket(env: Environment, { window }: Pick<ModelConfig, "window">): number {
  return bucketAt(Date.now() - window.ms - graceMs(env), window.ms);
}

/** The refusal of a rollback to a version that is not kept, or to none: nobody can know how far back the caller wants to go. */
function notKept(kept: Rollback["kept"], version: number | undefined): Problem {
  if (kept.length === 0) return new Problem(409, "there is no kept snapshot to go back to yet");
  const versions = kept.map((each) => (each.at === null ? each.version : `${each.version} of ${new Date(each.at).toISOString()}`));
  const expected = `version: expected the kept version to go back to: ${versions.join(", ")}`;
  return version === undefined ? new Problem(400, `${expected}; got none`) : new Problem(404, `${expected}; got ${version}`);
}

/** The refusal of a change under which the learnt state would not be valid. */
function otherConfiguration(name: string, conflict: string, relearnable: boolean): Problem {
  const reset = `POST the new configuration to /v1/models/${name}/reset`;
  const remedy = relearnable
    ? `, or ${reset}: it learns the log again if the body says "from": "log", else it forgets what was learnt`
    : `, ${reset}, which forgets what was learnt, or import the exported log into a new model`;
  return new Problem(409, `model ${name} has learnt under another configuration: ${conflict}. Send the old value${remedy}`);
}
