import { CLOCK_TOLERANCE_MS } from "afterclick";
import { type EventLine, type HeadLine, LogMismatch, nameOf } from "../verify/event-log.ts";

/** Least probability of a logged choice, as of `LoggedDecision`. */
const LEAST_SHARE = 1e-12;
/** Greatest exponent of a sampling. */
const MOST_SAMPLING = 39;

/**
 * The lines of one model's log, each event once.
 * @throws {LogMismatch} naming the line: of a second model, that is there twice, or whose numbers cannot be used.
 */
export async function* checkedLines(log: AsyncIterable<HeadLine | EventLine>): AsyncGenerator<HeadLine | EventLine> {
  const [numbers, shown] = [new Map<number, Set<number>>(), new Map<string, number>()];
  let model: string | undefined;
  for await (const line of log) {
    if (line.type === "model") {
      if (model !== undefined) throw new LogMismatch(secondHead(model, line.model));
      model = line.model;
      yield line;
      continue;
    }
    const fail = (message: string): never => {
      throw new LogMismatch(`${nameOf(line)}: ${message}`);
    };
    const { seq, shard = 0 } = line;
    if (!Number.isSafeInteger(seq)) fail(`seq: expected a whole number, got ${seq}`);
    const seen = numbers.get(shard) ?? new Set();
    if (seen.has(seq)) fail("expected each event once, got it twice; export the log again, or remove the repeated lines");
    numbers.set(shard, seen.add(seq));
    if (line.type === "impression") {
      if (shown.has(line.id)) fail("expected each impression once, got its id twice; export the log again, or remove the repeated lines");
      shown.set(line.id, line.shownAt);
    }
    const wrong = wrongIn(line);
    if (wrong) fail(wrong);
    if (line.type === "conversion" && line.at < (shown.get(line.impression) ?? 0) - CLOCK_TOLERANCE_MS)
      fail(`at: expected at most five minutes before the impression, got ${line.at}; correct the time, or remove the line`);
    yield line;
  }
}

function secondHead(first: string, second: unknown): string {
  const other = second === first ? "another export of it" : `the head of model ${second}`;
  return `expected the log of one model, ${first}, got ${other} after it; evaluate each export by itself`;
}

/** The faults of the fields that an evaluation reads. */
function wrongIn(line: EventLine): string | undefined {
  if (line.type === "conversion") {
    const { impression, goal, reward, at } = line;
    if (typeof impression !== "string") return `impression: expected an id, got ${impression}`;
    if (typeof goal !== "string" || goal === "") return `goal: expected a name, got ${goal}`;
    if (reward !== null && !Number.isFinite(reward)) return `reward: expected a finite number or null, got ${reward}`;
    return Number.isFinite(at) ? undefined : `at: expected a time in ms since 1970, got ${at}`;
  }
  if (line.type !== "impression") return undefined;
  const { id, action, shownAt, features, sampling = 0, decision } = line;
  if (typeof id !== "string" || id === "") return `id: expected an id, got ${id}`;
  if (typeof action !== "string") return `action: expected an id, got ${action}`;
  if (!(Number.isFinite(shownAt) && shownAt >= 0)) return `shownAt: expected a time in ms since 1970, got ${shownAt}`;
  if (features !== undefined && !Array.isArray(features)) return "features: expected an array of numbers";
  if (!(Number.isInteger(sampling) && sampling >= 0 && sampling <= MOST_SAMPLING))
    return `sampling: expected an exponent from 0 to ${MOST_SAMPLING}, got ${sampling}`;
  if (decision === null || decision === undefined) return undefined;
  if (typeof decision !== "object") return `decision: expected an object or null, got ${decision}`;
  const { probability, place } = decision;
  if (!Number.isInteger(place) || place < 0) return `decision.place: expected a whole number of at least 0, got ${place}`;
  // The comparison is false for NaN too.
  if (probability !== undefined && !(probability >= LEAST_SHARE && probability <= 1))
    return `decision.probability: expected a number from ${LEAST_SHARE} to 1, got ${probability}`;
  return undefined;
}
