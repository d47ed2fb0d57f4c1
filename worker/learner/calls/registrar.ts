import type { Featurizer } from "../../../src/publication/featurizer.ts";
import { homeOf } from "../../domain/ids/home.ts";
import { giverOf } from "../../domain/ids/join-key.ts";
import { shardName } from "../../domain/ids/shard.ts";
import { CLOCK_TOLERANCE_MS } from "../../domain/ids/token.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import type { ImpressionRow } from "../../domain/impression/impression.ts";
import { sampled } from "../../domain/impression/sampling.ts";
import { Problem } from "../../protocol/problem.ts";
import { learner } from "../../rpc/learner-client.ts";
import type * as Message from "../../rpc/message.ts";
import type { Model } from "../model/current-model.ts";
import { remade } from "../model/relearning.ts";
import type { Parts } from "../parts.ts";
import type { ModelState } from "../store/model-store.ts";
import { Arrivals, type Earlier } from "./arrivals.ts";
import { isCountable, rowsOf } from "./registering.ts";

/** Registers impressions of one learner: those that isolates have shown, and those that were decided elsewhere. */
export class Registrar {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async registerShown(registration: Message.Registration): Promise<Message.Registry> {
    const { store, current, running, upkeep, keyHome } = this.#parts;
    const { live, admission } = current.get();
    const { policies, checking, featurize } = await running.taking();
    const model = current.get();
    const { generation, shard } = model.state;
    const now = Date.now();
    const oldest = oldestOpen(model, now);
    if (registration.decisions.some((decision) => decision.generation > generation)) {
      throw new Problem(503, "the shard has not heard of the model's new generation yet");
    }
    checkGranted(model);
    const arrivals = new Arrivals(registration, this.#earlier(model, featurize));
    const known = store.impressions.known(arrivals.all);
    const unknown = arrivals.all.filter(({ id }) => !known.has(id));
    const timely = unknown.filter(({ shownAt, decision, features }) => {
      const inTime = shownAt >= oldest && shownAt <= now + CLOCK_TOLERANCE_MS;
      return decision.generation === generation && inTime && isCountable(checking, features());
    });
    const fitting = timely.filter(admission.fitting());
    arrivals.registerIn(live, policies, fitting);
    const times = fitting.map(({ shownAt }) => shownAt);
    store.transact(() => {
      const { database } = store;
      database.count("refused", unknown.length - fitting.length);
      database.count("dropped", registration.dropped);
      database.count("keptOut", registration.keptOut);
      for (const { unsampled, byPage } of registration.decisions) live.leaveOut(unsampled, byPage);
      if (times.length > 0) database.setLag(Math.max(0, now - Math.max(...times)));
    });
    if (times.length > 0) await upkeep.arm(Math.min(...times), { deferred: fitting.some(({ deferred }) => deferred) });
    await upkeep.attempt(() => keyHome.deliver());
    const newest = shard > 0 ? null : store.offered;
    return { generation, newest, catalogue: shard > 0 ? null : store.catalogues.version(), sampling: admission.sampling() };
  }

  /** Impressions decided before the log was learnt again have features of another encoder. They are made anew. */
  #earlier({ config }: Model, featurize: Featurizer): Earlier {
    const { catalogue, relearning } = this.#parts.store;
    return { until: config.encoder ? relearning.lastAt : 0, features: (row) => remade(row, featurize, catalogue) };
  }

  async register(
    items: readonly Message.Shown[],
    { byPage = false, asker, checkOnly = false }: Message.Registering = {},
  ): Promise<readonly Message.Registered[]> {
    const { store, current, running, upkeep, keyHome } = this.#parts;
    const { config, live, admission } = current.get();
    if (byPage && !config.local) {
      throw new Problem(
        403,
        'the model takes no impressions with a publishable key: PATCH it with { "local": true }, or use the secret key',
      );
    }
    const { policies, checking, featurize } = await running.taking();
    const model = current.get();
    const rows = rowsOf(items, { store, config, featurize, policies: checking, byPage }, oldestOpen(model, Date.now()));
    const homes = rows.map((row, place) => items[place].shard ?? homeOfRow(model.state, row));
    if (model.state.coordinates && homes.some((home) => home > 0)) return this.#registerAt(homes, items, { byPage, asker, checkOnly });
    checkGranted(model);
    if (byPage) this.#checkFree(items, rows);
    if (checkOnly) return [];
    const sampling = admission.sampling(rows.length, asker)[giverOf(byPage)];
    const registered = live.register(policies, sampled(rows, sampling));
    await upkeep.arm(Math.min(...rows.map(({ id }) => shownAtOf(id))));
    await upkeep.attempt(() => keyHome.deliver());
    const { generation, shard } = model.state;
    return registered.map(({ row: { id, action, decision, version, sampling = 0 }, status }) => {
      const probability = decision?.probability;
      const windowEndsAt = shownAtOf(id) + config.window.ms;
      return { id, action, probability, generation, sampling, modelVersion: version, windowEndsAt, shard, status };
    });
  }

  /** Registers impressions in their shards, after each shard has said that it would take them. */
  async #registerAt(
    homes: readonly number[],
    items: readonly Message.Shown[],
    options: Message.Registering,
  ): Promise<readonly Message.Registered[]> {
    const places = Map.groupBy(homes.keys(), (place) => homes[place]);
    const inAll = (checkOnly: boolean) =>
      Promise.all(
        Array.from(places, ([home, of]) => {
          const own = of.map((place) => items[place]);
          if (home > 0) this.#parts.keyHome.checkReached(home);
          const mine = { ...options, checkOnly };
          return home === 0
            ? this.register(own, mine)
            : learner(this.#parts.env, shardName(this.#parts.store.model.name, home), (stub) => stub.register(own, mine));
        }),
      );
    if (places.size > 1) await inAll(true);
    const registered = new Array<Message.Registered>(items.length);
    const results = await inAll(options.checkOnly ?? false);
    for (const [i, of] of Array.from(places.values()).entries())
      of.forEach((place, j) => {
        registered[place] = results[i][j];
      });
    return registered;
  }

  /** @throws {Problem} 409 if an id that a page gave belongs to another impression. */
  #checkFree(items: readonly Message.Shown[], rows: readonly ImpressionRow[]): void {
    const isTaken = ({ id, name, action }: ImpressionRow) =>
      (this.#parts.store.impressions.registered(id, name)?.action ?? action) !== action;
    const place = rows.findIndex((row, i) => items[i].taken || isTaken(row));
    if (place < 0) return;
    this.#parts.store.transact(() => this.#parts.store.database.count("collisions"));
    throw new Problem(409, `[${place}] id: belongs to another impression; give each impression an id of its own`);
  }
}

/** @throws {Problem} 503 in a shard that would refuse all impressions, because its coordinator has not granted it a part of the limits yet. */
function checkGranted({ state: { allowance } }: Model): void {
  if (allowance.open === 0 && allowance.bytes === 0)
    throw new Problem(503, "the shard has no part of the model's limits yet; send the same again in a moment");
}

/** The earliest time shown that is still taken. */
function oldestOpen({ timing, state }: Model, now: number): number {
  return Math.max(now - timing.windowMs - timing.graceMs, state.watermark, state.horizon);
}

/** The shard of an impression that was decided elsewhere. A caller's own id is always registered in the same one. */
function homeOfRow({ config, homes }: ModelState, { id, name, keys: [key] }: ImpressionRow): number {
  return name === null ? homeOf(key?.[0] ?? id, config.shards) : homeOf(name, homes);
}
