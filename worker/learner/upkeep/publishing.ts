import { shardOf } from "../../domain/ids/shard.ts";
import { KV_WRITE_MS, publishesAt } from "../../domain/model/publication.ts";
import type { Environment } from "../../environment.ts";
import { PublicationStore } from "../../kv/publication-store.ts";
import { learner, Unreachable } from "../../rpc/learner-client.ts";
import type { Model, ModelHolder } from "../model/model-holder.ts";
import type { Coordinator } from "../shards/coordinator.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import { Turns } from "../turns.ts";
import { Publisher } from "./publisher.ts";
import type { Task } from "./upkeep.ts";

/** Publishes what has changed: to isolates that ask the learner, and to KV. A shard asks its coordinator, which publishes for all. */
export class Publishing {
  readonly publisher: Publisher;
  readonly #env: Environment;
  readonly #store: LearnerStore;
  readonly #current: ModelHolder;
  readonly #coordinator: Coordinator;
  /** Writes of the publication, because KV keeps the last one. */
  readonly #turns = new Turns();

  constructor(env: Environment, store: LearnerStore, current: ModelHolder, coordinator: Coordinator) {
    this.#env = env;
    this.#store = store;
    this.#current = current;
    this.#coordinator = coordinator;
    this.publisher = new Publisher(store);
  }

  /** The tasks of the catalogue and of the model. */
  get tasks(): readonly Task[] {
    const model = (model: Model) => this.#modelDue(model);
    return [
      { due: (model) => this.#catalogueDue(model), run: () => this.publishCatalogue() },
      { due: model, dueWith: model, run: () => this.publish() },
    ];
  }

  /** When a catalogue that KV does not have is due. */
  #catalogueDue({ state: { shard, catalogued } }: Model): number | undefined {
    if (shard > 0) return undefined;
    return this.#store.catalogues.version() > catalogued.version ? (catalogued.at ?? 0) + KV_WRITE_MS : undefined;
  }

  #modelDue({ live, config, state }: Model): number | undefined {
    const { published, shard } = state;
    // What takes over is published.
    if (live.isUnreadable) return undefined;
    // A kept snapshot that KV does not have is due as soon as KV takes it.
    if (shard === 0 && this.#store.offered(state) > published.version) return (published.at ?? 0) + KV_WRITE_MS;
    const { published: version, newest } = this.#store.saying;
    return publishesAt({ version, at: published.at }, newest, config);
  }

  /** Runs after all writes of the publication so far, and before all later ones. */
  inTurn(work: () => Promise<void>): Promise<void> {
    return this.#turns.take(work);
  }

  /** Takes the model out of KV. */
  async withdraw(): Promise<void> {
    const { name, published, catalogued } = this.#store.model;
    await kvWrite(published.at);
    await kvWrite(catalogued.at);
    await new PublicationStore(this.#env.EVENTS).delete(name);
  }

  publishCatalogue(): Promise<void> {
    return this.inTurn(() => this.#putCatalogue());
  }

  /**
   * Keeps a snapshot, which isolates may take from now on, puts it into KV, then notes it as published. After an interruption, each
   * step can be repeated.
   */
  async publish(): Promise<void> {
    if (this.#store.model.shard > 0) return this.#askCoordinator();
    await this.#coordinator.keepEdition();
    return this.inTurn(async () => {
      // First, because the publication names the catalogue that it needs.
      await this.#putCatalogue();
      const { editions } = this.#store;
      const { published } = this.#store.model;
      // The turn before has published this change too.
      if (published.version === editions.newestVersion()) return;
      await kvWrite(published.at);
      await this.#coordinator.keepEdition();
      const { publication, bytes } = await this.publisher.newest();
      await new PublicationStore(this.#env.EVENTS).put(bytes, publication);
      // Not the time of encoding, because KV counts from its write.
      this.#store.transact(() => this.#store.setPublished(publication.version, Date.now()));
    });
  }

  async #askCoordinator(): Promise<void> {
    const { seq } = this.#store;
    const { name, shard } = this.#store.model;
    const isMember = await learner(this.#env, shardOf(name).model, (stub) => stub.gather(shard));
    // The model may never get a shard that was made for it. It has no impressions, so nothing is missing from a publication.
    if (!isMember) this.#store.transact(() => this.#store.setPublished(seq, Date.now()));
    // Else the alarm would ring again at once, and again.
    if ((this.#modelDue(this.#current.get()) ?? Number.POSITIVE_INFINITY) <= Date.now())
      throw new Unreachable("the coordinator has not reached this shard");
  }

  /** Puts the catalogue into KV unless it is there, and notes that. */
  async #putCatalogue(): Promise<void> {
    const model = this.#current.get();
    if (this.#catalogueDue(model) === undefined) return;
    const { name, catalogued } = model.state;
    await kvWrite(catalogued.at);
    const { catalogue } = this.#store;
    await new PublicationStore(this.#env.EVENTS).putCatalogue(await this.publisher.catalogue(), { model: name });
    this.#store.transact(() => this.#store.setCatalogued(catalogue.version, Date.now()));
  }
}

/** Waits until KV takes a write of a key again. */
async function kvWrite(last: number | null): Promise<void> {
  const passed = Math.abs(Date.now() - (last ?? 0));
  if (passed < KV_WRITE_MS) await scheduler.wait(KV_WRITE_MS - passed);
}
