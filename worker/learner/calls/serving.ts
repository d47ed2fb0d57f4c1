// The calls of isolates and pages. They check what may come at all; models and stores decide the rest.

import { pageGoalRefusal } from "../../domain/catalogue/page-rules.ts";
import type { ConversionEvent, KeyedEvent } from "../../domain/conversion/event.ts";
import type { Seen } from "../../domain/decision/left-out.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { isSequential } from "../../domain/model/model.ts";
import type { Policies } from "../../domain/model/policies.ts";
import type { HeldEdition } from "../../domain/model/publication.ts";
import type { Implemented, ServingRpc } from "../../rpc/learner.ts";
import type * as Message from "../../rpc/message.ts";
import { type Done, Group } from "../group.ts";
import type { Parts } from "../parts.ts";
import { PageAllowance } from "./page-allowance.ts";
import { recommending } from "./recommending.ts";
import { type Registration, registerElsewhere, registerTogether } from "./registration/elsewhere.ts";
import { registerShown } from "./registration/shown.ts";
import { seenAnywhere } from "./seen.ts";

type Events = readonly (ConversionEvent | KeyedEvent)[];

/** Statuses of a page's goal that changed something. */
const NEW: readonly Message.Ingested["status"][] = ["applied", "orphan"];

const NOT_SHOWN =
  "impressionId: the impression is not registered, and no report may wait for it: it was refused, is too old, or too many wait";

/** Decides, publishes, and takes impressions and conversions. */
export class Serving implements Implemented<ServingRpc> {
  readonly #parts: Parts;
  readonly #pageAllowance: PageAllowance;
  readonly #recommendations: Group<Message.RecommendRequest, Message.Recommendation>;
  readonly #registrations: Group<Registration, readonly Message.Registered[]>;
  readonly #conversions: Group<Events, readonly Message.Ingested[]>;

  constructor(parts: Parts, storage: DurableObjectStorage) {
    this.#parts = parts;
    const written = () => storage.sync();
    this.#recommendations = new Group(written, recommending(parts));
    this.#registrations = new Group(written, (registrations) => registerTogether(parts, registrations));
    this.#conversions = new Group(written, (calls) => this.#ingestTogether(calls));
    this.#pageAllowance = new PageAllowance(parts.current.shares);
  }

  async recommend(request: Message.RecommendRequest): Promise<Message.Recommendation> {
    return this.#recommendations.take(request, { alone: isSequential(this.#parts.current.get().config) });
  }

  async seen(question: Message.SeenQuestion): Promise<readonly Seen[]> {
    return seenAnywhere(this.#parts, question);
  }

  registerShown(batch: Message.ShownBatch): Promise<Message.BatchAnswer> {
    return registerShown(this.#parts, batch);
  }

  register(items: readonly Message.DecidedElsewhere[], options: Message.Registering = {}): Promise<readonly Message.Registered[]> {
    return registerElsewhere(this.#parts, (registration) => this.#registrations.take(registration), items, options);
  }

  /** Needs no running policies: they replay the conversions when they start. */
  async ingest(events: Events): Promise<readonly Message.Ingested[]> {
    const { store, current } = this.#parts;
    if (!store.exists) return events.map(() => ({ status: "unknown" as const }));
    // A shard that cannot be reached must not make others' events come twice.
    return this.#conversions.take(events, { alone: current.get().config.shards > 1 });
  }

  /** Takes the events of several calls in one transaction. */
  async #ingestTogether(calls: readonly Events[]): Promise<Done<readonly Message.Ingested[]>> {
    const { store, ingestion, upkeep } = this.#parts;
    const events = calls.flat();
    // The model may have been deleted while the calls waited for each other.
    const unknown = () => events.map(() => ({ status: "unknown" as const }));
    const ingested = (store.exists ? await ingestion.ingest(events) : unknown()).values();
    const answers = calls.map((own) => own.map(() => ingested.next().value as Message.Ingested));
    const times = events.map((event) => ("impression" in event ? shownAtOf(event.impression) : event.at));
    const followUp = async () => {
      if (store.exists && times.length > 0) await upkeep.arm(Math.min(...times));
    };
    return { answers, followUp };
  }

  async activate(id: string): Promise<Message.Activation | null> {
    if (!this.#parts.store.exists) return null;
    const policies = await this.#parts.running.readable();
    const { admission } = this.#parts.current.get();
    const status = this.#activated(policies, id, false, () => !admission.isRefused(id));
    if (status === "activated" || status === "accepted") await this.#follow([id]);
    return status;
  }

  /** @param waits whether the note of an impression may wait for its registration. */
  #activated(policies: Policies | undefined, id: string, byPage: boolean, waits: (id: string) => boolean): Message.Activation | null {
    const { store, current } = this.#parts;
    const { config, live, state } = current.get();
    const impression = store.impressions.find(id);
    if (impression?.state === "live") return "duplicate";
    if (impression?.state === "void" || shownAtOf(id) < Date.now() - config.deferral.ms) return null;
    if (impression) {
      live.activate(policies, impression);
      return "activated";
    }
    // An unknown impression may still be registered if it belongs to this generation, and its bucket is open.
    if (shownAtOf(id) < Math.max(state.generation, state.watermark, state.horizon) || !waits(id)) return null;
    store.transact(() => store.impressions.noteShown(id, byPage));
    return "accepted";
  }

  /** Sets the alarm for impressions with something new, and delivers their keys. */
  async #follow(ids: readonly string[]): Promise<void> {
    const { keyHome, upkeep } = this.#parts;
    if (ids.length === 0) return;
    await upkeep.arm(Math.min(...ids.map(shownAtOf)), { deferred: true });
    await upkeep.attempt(() => keyHome.deliver());
  }

  async report({ seen, reached, crawled = 0, asker }: Message.PageReport): Promise<Message.PageResults> {
    const { store, current, running, ingestion } = this.#parts;
    if (!store.exists) return { seen: seen.map(() => null), reached: reached.map(() => ({ status: "unknown" as const })) };
    this.#pageAllowance.check([...seen, ...reached.map(({ impression }) => impression)], Date.now(), asker);
    if (crawled > 0) store.transact(() => store.database.count("crawlers", crawled));
    const policies = seen.length > 0 ? await running.readable() : undefined;
    // A deferred impression is shown before it converts.
    const { config, admission } = current.get();
    const waits = admission.reports(asker);
    const activated = seen.map((id) => this.#activated(policies, id, true, waits));
    const isShown = (id: string) => ["live", "void"].includes(store.impressions.find(id)?.state ?? "");
    const refusals = reached.map(({ goal, impression }) => {
      return pageGoalRefusal(goal, config.goals) ?? (isShown(impression) || waits(impression) ? undefined : NOT_SHOWN);
    });
    const taken = ingestion.enter(reached.filter((_, place) => refusals[place] === undefined)).values();
    const ingested = refusals.map((detail) => {
      return detail === undefined ? (taken.next().value as Message.Ingested) : { status: "refused" as const, detail };
    });
    for (const [place, id] of seen.entries()) this.#pageAllowance.count(id, activated[place] === "activated", asker);
    for (const [place, { status }] of ingested.entries()) this.#pageAllowance.count(reached[place].impression, NEW.includes(status), asker);
    const isNew = (_: string, place: number) => activated[place] === "activated" || activated[place] === "accepted";
    await this.#follow([...seen.filter(isNew), ...reached.map(({ impression }) => impression)]);
    return { seen: activated, reached: ingested };
  }

  async publication(): Promise<Uint8Array<ArrayBuffer>> {
    await this.#snapshotChanges();
    return this.#parts.publishing.publisher.whole();
  }

  async newer(held: HeldEdition, always = false): Promise<Message.News> {
    await this.#snapshotChanges();
    return this.#parts.publishing.publisher.newer(held, always);
  }

  /** A snapshot is published with the configuration of its own version. */
  async #snapshotChanges(): Promise<void> {
    const { store, running, coordinator } = this.#parts;
    const isReadable = (await running.readable()) !== undefined;
    if (isReadable && store.hasChangedAfter(store.editions.newestVersion())) await coordinator.keepEdition();
  }
}
