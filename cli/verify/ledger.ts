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
import { LogMismatch } from "../log/event-line.ts";

interface Known {
  readonly line: ImpressionLine;
  /** The impression in each policy. Undefined while it is deferred. */
  readonly shown?: readonly Appended[];
  state: ImpressionLine["state"];
  conversions: ConversionLine[];
  fold: Fold;
}

/** The impressions so far, with their conversions and resolved rewards. */
export class Ledger {
  readonly #known = new Map<string, Known>();

  /** Adds an impression. @throws {LogMismatch} if it has the wrong round, or exists already and no rollback has undone it. */
  show(policies: Policies, line: ImpressionLine, config: RewardRules): void {
    const undone = this.#known.get(line.id);
    if (undone && undone.state !== "void") throw new LogMismatch("expected one line per impression, got a second one");
    if (undone) checkOutcome(undone);
    const { features, round, shownAt: now } = line;
    if (round === null) {
      this.#known.set(line.id, { line, state: line.state, conversions: [], fold: new Fold(now, config) });
      return;
    }
    const expected = policies[0].policy.impressions + 1;
    if (round !== expected) throw new LogMismatch(`round: expected ${expected}, got ${round}`);
    const place = placeOf(line);
    const shown = policies.map((recommender) => {
      const { policy } = recommender;
      return policy.append({ ...(policy.dimension > 0 && { features }), round, now, weight: recommender.weightAt(place) });
    });
    // The longest parts of a line are learnt, and not needed again.
    const left = { ...line, features: [], context: null, decision: null };
    this.#known.set(line.id, { line: left, shown, state: "live", conversions: [], fold: new Fold(now, config) });
  }

  /**
   * Learns a conversion if it counts.
   * @param counts whether it counted on arrival.
   */
  convert(policies: Policies, line: ConversionLine, counts: boolean, config: ModelConfig): void {
    const { goals, reward: range } = config;
    const known = this.#known.get(line.impression);
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
    return this.#known.get(impression)?.shown !== undefined;
  }

  /** Reverts everything after a version. */
  rollBack(to: number, config: RewardRules): void {
    for (const known of this.#known.values()) {
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
    for (const known of this.#known.values()) {
      if (known.line.shownAt >= before) continue;
      checkOutcome(known);
      this.#known.delete(known.line.id);
    }
  }
}

function checkOutcome({ line, state, fold }: Known): void {
  const after = fold.resolved;
  const expected = { state, reward: after?.reward ?? null, converted: after !== null && hasConverted(after.delays) };
  for (const [name, value] of Object.entries(expected)) {
    const logged = line[name as keyof typeof expected];
    if (logged !== value) throw new LogMismatch(`event ${line.seq}, impression ${line.id}: ${name}: expected ${value}, got ${logged}`);
  }
}
