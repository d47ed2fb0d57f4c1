import { CLOCK_TOLERANCE_MS } from "../../../domain/ids/token.ts";
import { Problem } from "../../../protocol/problem.ts";
import type { BatchAnswer, ShownBatch } from "../../../rpc/message.ts";
import { remade } from "../../model/relearning.ts";
import type { Parts } from "../../parts.ts";
import { checkGranted, isCountable, oldestOpen } from "./acceptance.ts";
import { Arrivals } from "./arrivals.ts";

/** Registers impressions that an isolate has shown. Refused ones are counted. */
export async function registerShown(parts: Parts, batch: ShownBatch): Promise<BatchAnswer> {
  const { store, current, running, upkeep, keyHome } = parts;
  const before = current.get();
  const { live, admission } = before;
  const { policies, checking, featurize } = await running.taking(before);
  const model = current.get();
  const { generation, shard } = model.state;
  const now = Date.now();
  const oldest = oldestOpen(model, now);
  if (batch.decisions.some((decision) => decision.generation > generation)) {
    throw new Problem(503, "the shard has not heard of the model's new generation yet");
  }
  checkGranted(model);
  // Impressions decided before the log was learnt again have features of another encoder. They are made anew.
  const until = (model.config.encoder && store.relearning.last?.at) ?? 0;
  const arrivals = new Arrivals(batch, { until, features: (row) => remade(row, featurize, store.catalogue) });
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
    database.count("dropped", batch.dropped);
    database.count("keptOut", batch.keptOut);
    for (const { unsampled, byPage, unlearnt } of batch.decisions) live.leaveOut(unsampled, byPage, unlearnt);
    if (times.length > 0) database.setLag(Math.max(0, now - Math.max(...times)));
  });
  if (times.length > 0) await upkeep.arm(Math.min(...times), { deferred: fitting.some(({ deferred }) => deferred) });
  await upkeep.attempt(() => keyHome.deliver());
  const newest = shard > 0 ? null : store.offered();
  return { generation, newest, catalogue: shard > 0 ? null : store.catalogues.version(), sampling: admission.sampling() };
}
