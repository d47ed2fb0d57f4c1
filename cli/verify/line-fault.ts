import type { ConversionLine, EndLine, EventLine, HeadLine, ImpressionLine, MarkLine } from "./event-line.ts";
import { LEAST_SHARE } from "./least-share.ts";

/** Greatest exponent of a sampling. */
const MOST_SAMPLING = 39;
/** The last time that a date can have, in ms since 1970. */
const LAST_TIME = 8.64e15;

type Fault = string | undefined;
type Content = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Content => value !== null && typeof value === "object" && !Array.isArray(value);
const isTime = (value: unknown): boolean => Number.isFinite(value) && Math.abs(value as number) <= LAST_TIME;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** Fault of a line that no worker exports: a field of another type, or a number that cannot be used. Undefined if there is none. */
export function lineFault(line: HeadLine | EventLine | EndLine): Fault {
  if (line.type === "model") return headFault(line);
  if (line.type === "end") return isCount(line.lines) ? undefined : `lines: expected a whole number, got ${shown(line.lines)}`;
  const { seq, shard } = line;
  if (!isCount(seq)) return `seq: expected a whole number, got ${shown(seq)}`;
  if (shard !== undefined && !isCount(shard)) return `shard: expected a whole number, got ${shown(shard)}`;
  if (line.type === "mark") return markFault(line);
  if (line.type === "conversion") return conversionFault(line);
  return line.type === "impression" ? impressionFault(line) : idFault("id", line.id);
}

/** A value of another program, in short. */
function shown(value: unknown): string {
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function idFault(name: string, value: unknown): Fault {
  return typeof value === "string" && value !== "" ? undefined : `${name}: expected an id, got ${shown(value)}`;
}

function headFault({ model, generation, horizon, lines, exportedAt, archive, shards }: HeadLine): Fault {
  if (typeof model !== "string") return `model: expected a name, got ${shown(model)}`;
  for (const [name, value] of Object.entries({ generation, horizon, exportedAt })) {
    if (value !== undefined && !isTime(value)) return `${name}: expected a time in ms since 1970, got ${shown(value)}`;
  }
  for (const [name, value] of Object.entries({ lines: lines ?? 0, shards: shards ?? 1 })) {
    if (!isCount(value)) return `${name}: expected a whole number, got ${shown(value)}`;
  }
  const isList = archive === undefined || (Array.isArray(archive) && archive.every(isRecord));
  return isList ? undefined : `archive: expected a list of files, got ${shown(archive)}`;
}

function conversionFault({ impression, event, goal, reward, at }: ConversionLine): Fault {
  if (typeof goal !== "string" || goal === "") return `goal: expected a name, got ${shown(goal)}`;
  if (reward !== null && !Number.isFinite(reward)) return `reward: expected a finite number or null, got ${shown(reward)}`;
  if (!isTime(at)) return `at: expected a time in ms since 1970, got ${shown(at)}`;
  return idFault("impression", impression) ?? (event === undefined ? undefined : idFault("event", event));
}

function impressionFault(line: ImpressionLine): Fault {
  const { id, action, shownAt, version, features, sampling = 0, decision } = line;
  if (typeof action !== "string") return `action: expected an id, got ${shown(action)}`;
  if (!isTime(shownAt)) return `shownAt: expected a time in ms since 1970, got ${shown(shownAt)}`;
  if (version !== undefined && !Number.isFinite(version)) return `version: expected a number, got ${shown(version)}`;
  if (features !== undefined && !(Array.isArray(features) && features.every(Number.isFinite)))
    return "features: expected an array of numbers";
  if (!(isCount(sampling) && sampling <= MOST_SAMPLING))
    return `sampling: expected an exponent from 0 to ${MOST_SAMPLING}, got ${shown(sampling)}`;
  return idFault("id", id) ?? decisionFault(decision);
}

function decisionFault(decision: unknown): Fault {
  if (decision === null || decision === undefined) return undefined;
  if (!isRecord(decision)) return `decision: expected an object or null, got ${shown(decision)}`;
  const { probability, place, candidates, first, asked } = decision;
  if (!isCount(place)) return `decision.place: expected a whole number of at least 0, got ${shown(place)}`;
  if (candidates !== null && candidates !== undefined && !isCount(candidates))
    return `decision.candidates: expected a whole number or null, got ${shown(candidates)}`;
  if (first !== null && first !== undefined && typeof first !== "string") return `decision.first: expected an id, got ${shown(first)}`;
  if (asked !== null && asked !== undefined && !isRecord(asked)) return `decision.asked: expected an object, got ${shown(asked)}`;
  // The comparison is false for NaN too.
  const isShare = probability === undefined || ((probability as number) >= LEAST_SHARE && (probability as number) <= 1);
  return isShare ? undefined : `decision.probability: expected a number from ${LEAST_SHARE} to 1, got ${shown(probability)}`;
}

function markFault({ mark, content }: MarkLine): Fault {
  if (typeof mark !== "string") return `mark: expected a name, got ${shown(mark)}`;
  if (!isRecord(content))
    return `expected what the worker exported, got a changed line: content: expected an object, got ${shown(content)}`;
  const fault = contentFault(mark, content);
  return fault && `expected what the worker exported, got a changed line: ${fault}`;
}

function contentFault(mark: string, content: Content): Fault {
  if (mark === "configuration") return configFault(content);
  if (mark === "relearnt")
    return isRecord(content.config) ? configFault(content.config) : `config: expected an object, got ${shown(content.config)}`;
  if (mark === "actions") {
    const isChange = ([place, action]: readonly unknown[]): boolean => isCount(place) && isRecord(action) && typeof action.id === "string";
    const { size, changed } = content;
    const isWhole = isCount(size) && Array.isArray(changed) && changed.every((each) => Array.isArray(each) && isChange(each));
    return isWhole ? undefined : "expected a catalogue's size and its changed actions";
  }
  if (mark === "merged" && !(Array.isArray(content.shards) && content.shards.every(isCount)))
    return "shards: expected a list of whole numbers";
  if (mark === "rollback" && !isCount(content.to)) return `to: expected a version, got ${shown(content.to)}`;
  return mark === "erasure" ? idFault("impression", content.impression) : undefined;
}

function configFault({ window, reward, goals, holdout, options, encoder }: Content): Fault {
  if (!isRecord(window) || !((window.ms as number) > 0 && isTime(window.ms)))
    return `window: expected { ms } above 0, got ${shown(window)}`;
  if (reward !== undefined && !(isRecord(reward) && Number.isFinite(reward.min) && Number.isFinite(reward.max)))
    return `reward: expected { min, max }, got ${shown(reward)}`;
  if (goals !== undefined && goals !== null && !(isRecord(goals) && Object.values(goals).every(isGoal)))
    return `goals: expected goals by their names, got ${shown(goals)}`;
  if (holdout !== undefined && !((holdout as number) >= 0 && (holdout as number) <= 1))
    return `holdout: expected a number from 0 to 1, got ${shown(holdout)}`;
  for (const [name, value] of Object.entries({ options, encoder })) {
    if (value !== undefined && value !== null && !isRecord(value)) return `${name}: expected an object, got ${shown(value)}`;
  }
  return undefined;
}

function isGoal(goal: unknown): boolean {
  if (!isRecord(goal)) return false;
  const { weight, window, value } = goal;
  const isWindow = window === undefined || window === null || (isRecord(window) && (window.ms as number) > 0 && isTime(window.ms));
  return Number.isFinite(weight) && isWindow && (value === undefined || value === null || isRecord(value));
}
