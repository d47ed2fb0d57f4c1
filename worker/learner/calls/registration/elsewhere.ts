// Registers impressions that were decided elsewhere: all of them or, if one is refused, none.

import { homeOf } from "../../../domain/ids/home.ts";
import { giverOf } from "../../../domain/ids/join-key.ts";
import { shardName } from "../../../domain/ids/shard.ts";
import { shownAtOf } from "../../../domain/ids/uuid.ts";
import type { ImpressionRow } from "../../../domain/impression/impression.ts";
import { sampled, UNLEARNT } from "../../../domain/impression/sampling.ts";
import { Problem } from "../../../protocol/problem.ts";
import { learner } from "../../../rpc/learner-client.ts";
import type { DecidedElsewhere, Registered, Registering } from "../../../rpc/message.ts";
import type { Parts } from "../../parts.ts";
import type { LearnerStore } from "../../store/learner-store.ts";
import type { ModelState } from "../../store/model-store.ts";
import { checkGranted, oldestOpen } from "./acceptance.ts";
import { rowsOf } from "./rows.ts";

/** Registers impressions here, or in the shards that they belong to. */
export async function registerElsewhere(
  parts: Parts,
  items: readonly DecidedElsewhere[],
  { byPage = false, asker, checkOnly = false }: Registering,
): Promise<readonly Registered[]> {
  const { store, current, running, upkeep, keyHome } = parts;
  const before = current.get();
  const { config, live, admission } = before;
  if (byPage && !config.local) {
    throw new Problem(403, 'the model takes no impressions with a publishable key: PATCH it with { "local": true }, or use the secret key');
  }
  const { policies, checking, featurize } = await running.taking(before);
  const model = current.get();
  const rows = rowsOf(items, { store, config, featurize, policies: checking, byPage }, oldestOpen(model, Date.now()));
  const homes = rows.map((row, place) => items[place].shard ?? homeOfRow(model.state, row));
  if (model.state.coordinates && homes.some((home) => home > 0)) return registerAt(homes, parts, items, { byPage, asker, checkOnly });
  checkGranted(model);
  if (byPage) checkFree(store, items, rows);
  if (checkOnly) return [];
  const sampling = admission.sampling(rows.length, asker)[giverOf(byPage)];
  const marked = sampled(rows, sampling).map((row, place) => {
    const { unlearnt } = items[place];
    return unlearnt ? { ...row, sampling: UNLEARNT[unlearnt] } : row;
  });
  const registered = live.register(policies, marked);
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
async function registerAt(
  homes: readonly number[],
  parts: Parts,
  items: readonly DecidedElsewhere[],
  options: Registering,
): Promise<readonly Registered[]> {
  const { env, store, keyHome } = parts;
  const places = Map.groupBy(homes.keys(), (place) => homes[place]);
  const inAll = (checkOnly: boolean) =>
    Promise.all(
      Array.from(places, ([home, of]) => {
        const own = of.map((place) => items[place]);
        if (home > 0) keyHome.checkReached(home);
        const mine = { ...options, checkOnly };
        return home === 0
          ? registerElsewhere(parts, own, mine)
          : learner(env, shardName(store.model.name, home), (stub) => stub.register(own, mine));
      }),
    );
  if (places.size > 1) await inAll(true);
  const results = await inAll(options.checkOnly ?? false);
  const left = new Map(Array.from(places.keys(), (home, i) => [home, results[i].values()]));
  return homes.map((home) => left.get(home)?.next().value as Registered);
}

/** @throws {Problem} 409 if an id that a page gave belongs to another impression. */
function checkFree(store: LearnerStore, items: readonly DecidedElsewhere[], rows: readonly ImpressionRow[]): void {
  const isTaken = ({ id, name, action }: ImpressionRow) => (store.impressions.registered(id, name)?.action ?? action) !== action;
  const place = rows.findIndex((row, i) => items[i].taken || isTaken(row));
  if (place < 0) return;
  store.transact(() => store.database.count("collisions"));
  throw new Problem(409, `[${place}] id: belongs to another impression; give each impression an id of its own`);
}

/** The shard of an impression that was decided elsewhere. A caller's own id is always registered in the same one. */
function homeOfRow({ config, homes }: ModelState, { id, name, keys: [key] }: ImpressionRow): number {
  return name === null ? homeOf(key?.[0] ?? id, config.shards) : homeOf(name, homes);
}
