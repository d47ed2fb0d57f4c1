// A second account of a log's impressions: what their states and rewards must be after each line.

import { isConflict } from "../../worker/domain/conversion/event.ts";
import { Fold } from "../../worker/domain/conversion/fold.ts";
import { counting, hasConverted, isInRange, observeAll } from "../../worker/domain/conversion/reward.ts";
import { isSilent, type RewardRules } from "../../worker/domain/conversion/silence.ts";
import { placeOf } from "../../worker/domain/impression/impression.ts";
import type { ConversionLine, ImpressionLine } from "../../worker/domain/log/log-line.ts";
import { windowOf } from "../../worker/domain/model/goals.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import type { Appended, Policies } from "../../worker/domain/model/policies.ts";
import type { AwaitedConversions } from "../log/awaited.ts";
import { Column } from "../log/column.ts";
import { LogMismatch, type Origin } from "../log/event-line.ts";
import { IdTable } from "../log/id-table.ts";
import type { Rollbacks } from "./rollbacks.ts";

/** The part of an impression's line that the end of a log has to agree with. */
type Logged = Pick<ImpressionLine, "seq" | "id" | "shownAt" | "state" | "reward" | "converted">;

/** An impression whose outcome may change. */
interface Open {
  readonly line: Logged;
  /** The impression in each policy. Undefined while it is deferred. */
  readonly shown?: readonly Appended[];
  state: ImpressionLine["state"];
  conversions: ConversionLine[];
  fold: Fold;
}

/**
 * The impressions of a shard so far. Those whose conversions are still to come are objects, with their resolved rewards. All others are
 * compared with their lines at once. **Memory:** 29 to 35 bytes for each of these, and 5 more while the table of ids grows.
 */
export class Ledger {
  readonly #rollbacks: Rollbacks;
  readonly #awaited: AwaitedConversions;
  readonly #open = new Map<string, Open>();
  readonly #ids = new IdTable();
  /** Numbers of the events of impressions, negative while an impression is deferred. 0: a rollback has undone it. */
  readonly #events = new Column(Float64Array);
  /** The first difference between an outcome and its line. */
  #wrong?: { readonly seq: number; readonly message: string };

  constructor(rollbacks: Rollbacks, awaited: AwaitedConversions) {
    this.#rollbacks = rollbacks;
    this.#awaited = awaited;
  }

  /** Adds an impression. @throws {LogMismatch} if it has the wrong round, or exists already and no rollback has undone it. */
  show(policies: Policies, line: ImpressionLine & Origin, config: RewardRules): void {
    const { id, action, features, round, seq, shownAt: now } = line;
    const number = this.#ids.add(id);
    if (this.#events.get(number) !== 0) throw new LogMismatch("expected one line per impression, got a second one");
    this.#settle(id);
    const expected = policies[0].policy.impressions + 1;
    if (round !== null && round !== expected) throw new LogMismatch(`round: expected ${expected}, got ${round}`);
    const place = placeOf(line);
    const shown = (recommender: Policies[number]): Appended => {
      const { policy } = recommender;
      return policy.append({
        ...(policy.dimension > 0 && { features }),
        action,
        round: expected,
        now,
        weight: recommender.weightAt(place),
      });
    };
    const appended = round === null ? undefined : policies.map(shown);
    const state = round === null ? line.state : "live";
    this.#events.set(number, state === "void" ? 0 : round === null ? -seq : seq);
    if (this.#awaited.has(id)) {
      const { reward, converted } = line;
      const logged = { seq, id, shownAt: now, state: line.state, reward, converted };
      this.#open.set(id, { line: logged, shown: appended, state, conversions: [], fold: new Fold(now, config) });
    } else {
      const undone = round !== null && this.#rollbacks.undid(seq, line.archivedAt);
      this.#compare(line, { state: undone ? "void" : state, reward: null, converted: false });
    }
  }

  /**
   * Learns a conversion if it counts.
   * @param counts whether it counted on arrival.
   */
  convert(policies: Policies, line: ConversionLine, counts: boolean, config: ModelConfig): void {
    const { goals, reward: range } = config;
    const known = this.#open.get(line.impression);
    if (!counts) {
      if (line.status === "orphan" && known?.state === "live")
        throw new LogMismatch("status: expected another status than orphan, because the impression comes before");
      return;
    }
    if (!known?.shown || known.state !== "live") throw new LogMismatch(`status: got ${line.status}, but no live impression comes before`);
    if (line.at - known.line.shownAt > windowOf(config, line.goal))
      throw new LogMismatch(`status: expected late, because the window had ended; got ${line.status}`);
    if (!goals?.[line.goal]?.value && line.reward !== null && !(line.reward >= range.min && line.reward <= range.max))
      throw new LogMismatch(`reward: expected ${range.min} to ${range.max}, got ${line.reward}`);
    if (!isInRange(line.reward)) throw new LogMismatch(`reward: expected one in the range of amounts, got ${line.reward}`);
    const versions = known.conversions.filter(({ goal, event }) => goal === line.goal && event === line.event);
    // Earlier versions of the worker called each revision a conflict.
    const contradicts = (other: ConversionLine): boolean => !isSilent(other, config) && !isSilent(line, config) && isConflict(other, line);
    const wrong = line.status === "conflict" ? versions.length === 0 : versions.some(contradicts);
    if (line.status !== "void" && wrong) {
      throw new LogMismatch(`status: expected ${line.status === "conflict" ? "applied" : "conflict"}, got ${line.status}`);
    }
    known.conversions.push(line);
    const change = known.fold.apply(line);
    if (change) observeAll(policies, known.shown, change);
  }

  /** Whether the impression of a conversion is learnt. It may have been erased. */
  knows({ impression }: ConversionLine): boolean {
    return this.#open.get(impression)?.shown !== undefined;
  }

  /** Passes the line of a conversion, whether it was learnt or not. */
  pass({ impression, seq }: ConversionLine): void {
    this.#awaited.pass(impression);
    if (!this.#awaited.has(impression) && !this.#rollbacks.follow(seq)) this.#settle(impression);
  }

  /** Reverts everything after a version. */
  rollBack(to: number, config: RewardRules): void {
    for (let number = 0; number < this.#ids.size; number++) if (this.#events.get(number) > to) this.#events.set(number, 0);
    for (const known of this.#open.values()) {
      if (known.state === "live" && known.line.seq > to) known.state = "void";
      known.conversions = known.conversions.filter(({ seq }) => seq <= to);
      known.fold = new Fold(known.line.shownAt, config, counting(known.conversions));
    }
  }

  /** Compares states and rewards with those that follow from all lines. @throws {LogMismatch} at the first difference. */
  checkOutcomes(): void {
    this.settle(Number.POSITIVE_INFINITY);
  }

  /** Compares the impressions shown before a time, and drops them. @throws {LogMismatch} at the first difference. */
  settle(before: number): void {
    for (const { line } of this.#open.values()) if (line.shownAt < before) this.#settle(line.id);
    if (this.#wrong) throw new LogMismatch(this.#wrong.message);
  }

  /** Compares an impression whose outcome does not change any more, and drops it. */
  #settle(id: string): void {
    const known = this.#open.get(id);
    if (!known) return;
    const { line, state, fold } = known;
    const after = fold.resolved;
    this.#compare(line, { state, reward: after?.reward ?? null, converted: after !== null && hasConverted(after.delays) });
    this.#open.delete(id);
  }

  /** Notes a difference. The replay may find another one in a line before the end of the log, whose message is clearer. */
  #compare(line: Logged, expected: Pick<Logged, "state" | "reward" | "converted">): void {
    const name = (["state", "reward", "converted"] as const).find((each) => line[each] !== expected[each]);
    if (name === undefined || (this.#wrong && this.#wrong.seq < line.seq)) return;
    const message = `event ${line.seq}, impression ${line.id}: ${name}: expected ${expected[name]}, got ${line[name]}`;
    this.#wrong = { seq: line.seq, message };
  }
}
