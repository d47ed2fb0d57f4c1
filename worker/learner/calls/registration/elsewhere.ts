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
import { type Done, each } from "../../group.ts";
import type { Parts } from "../../parts.ts";
import type { LearnerStore } from "../../store/learner-store.ts";
import type { ModelState } from "../../store/model-store.ts";
import { checkGranted, oldestOpen } from "./acceptance.ts";
import { rowsOf } from "./rows.ts";

/** A call that registers impressions. */
export interface Registration {
  readonly items: readonly DecidedElsewhere[];
  readonly options: Registering;
}

/** How impressions are registered in this learner. */
type RegisterHere = (registration: Registration) => Promise<readonly Registered[]>;

/**
 * Registers impressions here, or in the shards that they belong to.
 * @param here registers those of this learner.
 */
export async function registerElsewhere(
  parts: Parts,
  here: RegisterHere,
  items: readonly DecidedElsewhere[],
  options: Registering,
): Promise<readonly Registered[]> {
  const { current } = parts;
  if (options.byPage && !current.get().config.local) {
    throw new Problem(403, 'the model takes no impressions with a publishable key: PATCH it with { "local": true }, or use the secret key');
  }
  if (!current.get().state.coordinates) return here({ items, options });
  const { model, rows } = await checking(parts);
  const checked = rows({ items, options });
  const homes = checked.map((row, place) => items[place].shard ?? homeOfRow(model.state, row));
  return homes.some((home) => home > 0) ? registerAt(homes, parts, here, { items, options }) : here({ items, options });
}

/** Registers the impressions of some calls in one transaction. Those of a call are all registered or, if one is refused, none. */
export async function registerTogether(parts: Parts, calls: readonly Registration[]): Promise<Done<readonly Registered[]>> {
  const { upkeep, keyHome } = parts;
  const checked = await checking(parts);
  const answers = checked.before.live.change(() => each(calls, (call) => registeredOf(parts.store, checked, call)));
  const times = answers.flatMap((answer) => (answer instanceof Problem ? [] : answer.map(({ id }) => shownAtOf(id))));
  const followUp = async () => {
    if (times.length === 0) return;
    await upkeep.arm(Math.min(...times));
    await upkeep.attempt(() => keyHome.deliver());
  };
  return { answers, followUp };
}

/** The model before and after its policies have started, and the check of what it takes. */
async function checking({ store, current, running }: Parts) {
  const before = current.get();
  const { policies, checking, featurize } = await running.taking(before);
  const model = current.get();
  const oldest = oldestOpen(model, Date.now());
  const rows = ({ items, options: { byPage = false } }: Registration) => {
    return rowsOf(items, { store, config: before.config, featurize, policies: checking, byPage }, oldest);
  };
  return { before, policies, model, rows };
}

/** Registers the impressions of a call. It throws a problem before it has changed anything. */
function registeredOf(
  store: LearnerStore,
  { before, policies, model, rows: rowsFor }: Awaited<ReturnType<typeof checking>>,
  call: Registration,
): readonly Registered[] {
  const { config, live, admission } = before;
  const { items, options } = call;
  const { byPage = false, asker, checkOnly = false } = options;
  const rows = rowsFor(call);
  checkGranted(model);
  if (byPage) checkFree(store, items, rows);
  if (checkOnly) return [];
  const sampling = admission.sampling(rows.length, asker)[giverOf(byPage)];
  const marked = sampled(rows, sampling).map((row, place) => {
    const { unlearnt } = items[place];
    return unlearnt ? { ...row, sampling: UNLEARNT[unlearnt] } : row;
  });
  return live.register(policies, marked).map(({ row: { id, action, decision, version, sampling = 0 }, status }) => {
    const probability = decision?.probability;
    const windowEndsAt = shownAtOf(id) + config.window.ms;
    const { generation, shard } = model.state;
    return { id, action, probability, generation, sampling, modelVersion: version, windowEndsAt, shard, status };
  });
}

/** Registers impressions in their shards, after each shard has said that it would take them. */
async function registerAt(
  homes: readonly number[],
  { env, store, keyHome }: Parts,
  here: RegisterHere,
  { items, options }: Registration,
): Promise<readonly Registered[]> {
  const places = Map.groupBy(homes.keys(), (place) => homes[place]);
  const inAll = (checkOnly: boolean) =>
    Promise.all(
      Array.from(places, ([home, of]) => {
        const own = of.map((place) => items[place]);
        if (home > 0) keyHome.checkReached(home);
        const mine = { ...options, checkOnly };
        return home === 0
          ? here({ items: own, options: mine })
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
