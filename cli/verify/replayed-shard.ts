import type { ConversionLine, ImpressionLine } from "../../worker/domain/log/log-line.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import { type Policies, partsOf, restorePolicies } from "../../worker/domain/model/policies.ts";
import type { AwaitedConversions } from "../log/awaited.ts";
import { type EventLine, LogMismatch } from "../log/event-line.ts";
import type { ShardNeeds } from "../log/needs.ts";
import { KeptStates } from "./kept-states.ts";
import { Ledger } from "./ledger.ts";
import { Rollbacks } from "./rollbacks.ts";

/** A shard of a replayed model: its impressions, and the policies that learn them. A model without shards is one. */
export class ReplayedShard {
  readonly ledger: Ledger;
  readonly #rollbacks: Rollbacks;
  readonly #kept: KeptStates<readonly Uint8Array[]>;
  #policies: Policies;
  #seq = 0;

  constructor({ versions, rollbacks }: ShardNeeds, policies: Policies, awaited: AwaitedConversions) {
    this.#rollbacks = new Rollbacks(rollbacks);
    this.ledger = new Ledger(this.#rollbacks, awaited);
    this.#kept = new KeptStates(versions);
    this.#policies = policies;
  }

  get policies(): Policies {
    return this.#policies;
  }

  /** Number of the last event. */
  get seq(): number {
    return this.#seq;
  }

  /** Comes to an event, and keeps the sums before it if a later line needs them. @param place of the line. */
  advance(seq: number, place: number): void {
    this.#kept.keep(seq, place, () => partsOf(this.#policies));
    this.#seq = seq;
  }

  /** Snapshots of the sums at a version. @throws {LogMismatch} if there was no such version. */
  async sumsAt(version: number): Promise<readonly Uint8Array[]> {
    // `advance` has kept all others that are needed.
    const sums = this.#kept.get(version) ?? (version >= this.#seq ? partsOf(this.#policies) : undefined);
    if (!sums) throw new LogMismatch(`expected an earlier version, got ${version}, which never existed`);
    return sums;
  }

  show(line: ImpressionLine & EventLine, config: ModelConfig): void {
    const { round, state, seq, archivedAt } = line;
    const expected = this.#rollbacks.undid(seq, archivedAt) ? "void" : "live";
    if (round !== null && state !== expected) throw new LogMismatch(`state: expected ${expected}, got ${state}`);
    this.ledger.show(this.#policies, line, config);
  }

  convert(line: ConversionLine & EventLine, config: ModelConfig): void {
    this.ledger.convert(this.#policies, line, this.#counted(line), config);
  }

  /** Whether the conversion counted on arrival. Conversions that a later rollback reverted did. */
  #counted({ seq, status, archivedAt }: ConversionLine & EventLine): boolean {
    return status === "applied" || status === "conflict" || (status === "void" && this.#rollbacks.undid(seq, archivedAt));
  }

  async rollBack(to: number, config: ModelConfig): Promise<void> {
    const kept = this.#kept.get(to);
    if (!kept) throw new LogMismatch(`expected a rollback to an earlier version, got ${to}, which never existed`);
    this.#policies = await restorePolicies(kept);
    this.ledger.rollBack(to, config);
  }
}
