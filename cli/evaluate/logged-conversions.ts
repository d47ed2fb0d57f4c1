// The conversions of an impression as a log's evaluation takes them: each change of a goal's reward, and when it was known.

import type { LoggedConversion } from "afterclick";
import { type Rules, refusal } from "../../worker/domain/conversion/refusal.ts";
import { counting, resolved } from "../../worker/domain/conversion/reward.ts";
import type { ConversionLine } from "../../worker/domain/log/log-line.ts";
import { DEFAULTS_VERSION } from "../../worker/domain/model/defaults.ts";

/** A conversion, and the latest time that the lines before it state: it was not reported earlier. In ms since 1970. */
export interface TimedConversion extends ConversionLine {
  readonly reportedAfter: number;
}

interface Asked {
  readonly rules: Rules;
  readonly shownAt: number;
  readonly asOf: number;
}

/** A correction this soon after its order, in ms, states the time of the order: shops do so for refunds that come days later. */
const SAME_TIME = 60_000;

/**
 * Each change of the reward of a goal, oldest first. The later ones replace the first, under one event id.
 *
 * Conversions that the present configuration refuses do not count, as in a relearning: those of goals that it does not declare, and rewards
 * outside its range. A 0 is silence, whichever version of the worker wrote the log.
 */
export function loggedConversions(conversions: readonly TimedConversion[], { rules, shownAt, asOf }: Asked): LoggedConversion[] {
  const { goals } = rules;
  const today = { ...rules, defaults: DEFAULTS_VERSION };
  const known = counting(conversions).filter((line) => refusal(line, rules) === undefined);
  // The goals are in the order of their events that say something.
  const counted = [true, false].flatMap((says) => known.filter(({ reward }) => (reward !== 0) === says));
  return Array.from(
    Map.groupBy(counted, ({ goal }) => goal),
    ([goal, lines]) => {
      // A 0 and a retraction are no order.
      const first = lines.reduce((least, { at, reward }) => (reward ? Math.min(least, at) : least), Number.POSITIVE_INFINITY);
      const reported = lines
        .map((line) => ({
          line,
          knownAt: line.at > first && line.at <= first + SAME_TIME ? Math.max(line.at, line.reportedAfter) : line.at,
        }))
        .filter(({ knownAt }) => knownAt <= asOf)
        .sort((a, b) => a.knownAt - b.knownAt);
      const changes: LoggedConversion[] = [];
      reported.forEach(({ knownAt }, i) => {
        const outcome = resolved(
          reported.slice(0, i + 1).map(({ line }) => line),
          today,
          shownAt,
        );
        const reward = (goals ? outcome?.goals?.[goal]?.reward : outcome?.reward) ?? 0;
        const before = changes.at(-1);
        if (reward === (before?.reward ?? 0)) return;
        const at = before ? before.at + 1 : shownAt + (outcome?.delay ?? 0);
        changes.push({ goal, eventId: "report", at, reward, ...(knownAt > at && { knownAt }) });
      });
      return changes;
    },
  ).flat();
}
