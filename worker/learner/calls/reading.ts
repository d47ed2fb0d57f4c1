import { beliefsOf } from "../../domain/decision/belief.ts";
import type { KeyHashes } from "../../domain/ids/join-key.ts";
import type { HeldLine } from "../../domain/log/log-line.ts";
import { exportedLine, type LogRow } from "../../domain/log/log-row.ts";
import { Problem, unknownModel } from "../../protocol/problem.ts";
import type { Features } from "../../protocol/schema.ts";
import type { Implemented, ReadingRpc } from "../../rpc/learner.ts";
import type * as Message from "../../rpc/message.ts";
import { added, addedTotals, type ModelCounts, type Totals } from "../../rpc/model-counts.ts";
import { countsOf, totalsOf } from "../figures/counts.ts";
import { type Describing, description } from "../figures/description.ts";
import { examine } from "../figures/examination.ts";
import { explain } from "../figures/explanation.ts";
import { checkStart, headOf, partOf, spansOf } from "../figures/exporting.ts";
import { measure } from "../figures/metrics.ts";
import type { Parts } from "../parts.ts";

/** Tells what a model has learnt and counted. */
export class Reading implements Implemented<ReadingRpc> {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async describe(): Promise<Message.Description> {
    const { store, coordinator } = this.#parts;
    const describing = await this.#describing();
    return description(store, addedTotals(await coordinator.withOthers(await this.totals(), (stub) => stub.totals())), describing);
  }

  async totals(): Promise<Totals> {
    const { store, current, relearning } = this.#parts;
    return totalsOf(store, current.get().config, relearning, Date.now());
  }

  async counts(): Promise<ModelCounts> {
    const { store, current, relearning } = this.#parts;
    return countsOf(store, current.get().config, relearning, Date.now());
  }

  async #describing(): Promise<Describing> {
    const { report } = this.#parts.current.get();
    return { report, ...(await this.#parts.running.digest()) };
  }

  async metrics(): Promise<Message.Measurement> {
    const { store, current, running, coordinator } = this.#parts;
    const { config } = current.get();
    const describing = await this.#describing();
    const policies = (await running.readable()) && (await running.publicPolicies());
    const all = await coordinator.withOthers(await this.counts(), (stub) => stub.counts());
    const counts = all.length === 1 ? all[0] : added(all);
    const change = policies?.[0].policy.change ?? null;
    return measure(counts, config, { description: description(store, counts, describing), change }, Date.now());
  }

  async examination(): Promise<Message.Examination> {
    const { store, current, running } = this.#parts;
    const { config, live } = current.get();
    const [{ policy }] = await running.policies();
    // The coordinator's part of the lists is a fair sample of all shards.
    const { log, seq } = store;
    const page = (after: number) => {
      // A reset meanwhile has started another log.
      if (!live.isCurrent) throw new Problem(503, "the model is starting again");
      return log.page(after);
    };
    return examine({ config, policy, seq, page });
  }

  async actions() {
    const { current, store } = this.#parts;
    // Throws if there is no such model.
    current.get();
    const { actions, version } = store.catalogue;
    return { actions, version };
  }

  async estimates(context?: Features): Promise<readonly Message.ActionEvidence[]> {
    const { store, current, running, coordinator } = this.#parts;
    const { featurize } = current.get();
    const { actions, size } = store.catalogue;
    // Nothing is believed while the log is learnt again.
    if (size === 0 || !(await running.readable())) return [];
    const [{ policy }] = await running.publicPolicies();
    if (policy.hasDomain) return [];
    const points = featurize().points(context, actions);
    const ids = actions.map(({ id }) => id);
    const closed = await coordinator.withOthers(await this.closedCounts(context, ids), (stub) => stub.closedCounts(context, ids));
    return beliefsOf(policy, { actions, points }).map((belief, i) => {
      const total = (name: keyof Message.ClosedCount) => closed.reduce((sum, counts) => sum + counts[i][name], 0);
      return { id: ids[i], belief, closed: { impressions: total("impressions"), converted: total("converted") } };
    });
  }

  async closedCounts(context: Features | undefined, actions: readonly string[]): Promise<readonly Message.ClosedCount[]> {
    const { closed } = this.#parts.current.get();
    const now = Date.now();
    return actions.map((id) => closed.count(context, id, now));
  }

  async impression(id: string): Promise<Message.Explanation | null> {
    const { store, running } = this.#parts;
    if (!store.exists) return null;
    return explain(store, await running.explaining(), id, Date.now());
  }

  async keyLines(hashes: KeyHashes): Promise<readonly HeldLine[]> {
    const { store, archive, coordinator } = this.#parts;
    if (!store.exists) throw unknownModel();
    const ids = store.impressions.keys.impressionsOf(hashes);
    const impressions = store.impressions.logged(ids.flatMap((id) => store.impressions.find(id) ?? []));
    const rows = [...impressions, ...store.conversions.ofKey(ids, hashes)].map((row) => exportedLine(row) as HeldLine);
    const archived = (await archive?.withKey(hashes)) ?? [];
    // A file may be written already whose rows are not forgotten yet.
    const known = new Set(rows.map(({ seq }) => seq));
    const own = [...archived.filter(({ seq }) => !known.has(seq)), ...rows];
    const all = [own, ...(await coordinator.askOthers((stub) => stub.keyLines(hashes)))];
    return all.flatMap((lines = [], shard) => lines.map((line) => ({ ...line, ...(shard > 0 && { shard }) })));
  }

  async startLog(after: number): Promise<Message.LogStart> {
    const { store, running, coordinator } = this.#parts;
    if (!store.exists) throw unknownModel();
    checkStart(store, after);
    // A log ends with the sums of all shards, unless they are learnt again.
    if (await running.readable()) await coordinator.collect();
    const { digest, version } = await running.digest();
    const spans = spansOf(store, after, version);
    const rows = store.log.page(after, version);
    const parts = await coordinator.withOthers(partOf(store, spans[0]), (stub, shard) => stub.logPart(spans[shard]));
    return { head: { ...headOf(store, spans[0], parts), exportedAt: Date.now(), digest }, spans, rows };
  }

  async logPart(span: Message.LogSpan): Promise<Message.LogPart> {
    const { store } = this.#parts;
    if (!store.exists) throw unknownModel();
    return partOf(store, span);
  }

  async log({ after, upTo }: Message.LogSpan): Promise<readonly LogRow[]> {
    const { store } = this.#parts;
    if (!store.exists) throw unknownModel();
    return store.log.page(after, upTo);
  }
}
