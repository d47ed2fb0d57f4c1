// A log in a data frame, such as that of the Open Bandit Dataset (Saito et al., 2021), as the decisions that `evaluate` takes.

import type { EncoderOptions } from "../encoding/encoder.ts";
import type { NamedFeatures } from "../encoding/terms.ts";
import type { LoggedConversion, LoggedDecision } from "../evaluation/log/log.ts";
import type { EntriesOf } from "../evaluation/log/timed-log.ts";
import { finiteNumber, onlyKeys, outOfRange, record, wrongType } from "../values/argument.ts";
import { checkedActions } from "./catalogue.ts";
import { learningDefaults } from "./defaults.ts";
import { type Action, featurizer } from "./featurizer.ts";
import { withCatalogue } from "./meanings.ts";

/** Rows by their columns' names, or columns of equal length. */
export type Frame = readonly Readonly<Record<string, unknown>>[] | Readonly<Record<string, ArrayLike<unknown>>>;

/** Names of columns. The defaults are those of the Open Bandit Dataset. */
export interface FrameColumns {
  /** When the action was shown: ms since 1970, a `Date`, or ISO 8601. A text without a zone is UTC. Default "timestamp". */
  readonly shownAt?: string;
  /** The id of the shown action. Default "item_id". */
  readonly action?: string;
  /** Probability with which it was chosen. Default "propensity_score". */
  readonly probability?: string;
  /** Its reward, 0 for none. Default "click". */
  readonly reward?: string;
  /** When the reward came. Default: with the decision. Empty cells, too. */
  readonly convertedAt?: string;
  /** Names the visitor. Default: each decision has a visitor of its own. */
  readonly visitor?: string;
  /** Features of the context. Default: all columns whose names begin with "user_feature_". */
  readonly context?: readonly string[];
}

/** How to read a frame. */
export interface FrameOptions {
  /** All actions that each decision could take. */
  readonly actions: readonly Action[];
  /** In part: the default has 64 components and all interactions. */
  readonly encoder?: Partial<EncoderOptions>;
  readonly columns?: FrameColumns;
}

/** A frame as `evaluate` takes it. */
export interface FrameLog {
  /** Decisions, which compute their features when they are asked for. */
  readonly log: EntriesOf<LoggedDecision>;
  /** Components of their features, which the evaluated policy needs. */
  readonly dimension: number;
  /** The latest time in the frame, in ms since 1970: the `asOf` of a whole log. */
  readonly end: number;
}

const COLUMNS = ["shownAt", "action", "probability", "reward", "convertedAt", "visitor", "context"];

/**
 * Reads a log of decisions from a data frame: an array of rows, or an object of columns, as a csv parser, Arrow or pandas gives them.
 *
 * @example
 * const { log, dimension, end } = frameLog(rows, { actions: items });
 * await evaluate({ log, policy: otfLinTs({ dimension }), window: "none", asOf: end });
 * @throws {TypeError | RangeError} naming the row and its column. `evaluate` checks the rest.
 */
export function frameLog(frame: Frame, options: FrameOptions): FrameLog {
  onlyKeys("options", record("options", options), ["actions", "encoder", "columns"]);
  const { encoder = {}, columns = {} } = options;
  const actions = checkedActions(options.actions);
  onlyKeys("columns", record("columns", columns), COLUMNS);
  const { length, names, cell } = readerOf(frame);
  const { shownAt = "timestamp", action = "item_id", probability = "propensity_score", reward = "click", convertedAt, visitor } = columns;
  const { context = names.filter((name) => name.startsWith("user_feature_")) } = columns;
  if (!Array.isArray(context)) throw wrongType("columns.context", "an array of names", context);
  const needed = [shownAt, action, probability, reward, convertedAt, visitor, ...context];
  const missing = length > 0 ? needed.find((name) => name !== undefined && !names.includes(name)) : undefined;
  if (missing !== undefined) throw outOfRange("columns", `one of ${names.join(", ")}`, missing);

  const ids = actions.map(({ id }) => id);
  const places = new Map(ids.map((id, i) => [id, i]));
  const { encoder: completed } = learningDefaults({ policy: "", encoder: record("encoder", encoder) });
  const features = featurizer(withCatalogue(completed as EncoderOptions, actions));
  const at = (row: number): LoggedDecision => {
    const index = places.get(String(cell(row, action)));
    if (index === undefined) throw outOfRange(`row ${row}, ${action}`, "the id of one of the actions", cell(row, action));
    const time = timeIn(`row ${row}, ${shownAt}`, cell(row, shownAt));
    const earned = numberIn(`row ${row}, ${reward}`, cell(row, reward));
    const later =
      convertedAt === undefined || isEmpty(cell(row, convertedAt)) ? time : timeIn(`row ${row}, ${convertedAt}`, cell(row, convertedAt));
    const conversions: LoggedConversion[] = earned === 0 ? [] : [{ at: later, reward: earned }];
    return {
      ...{ shownAt: time, count: ids.length, ids, index, conversions },
      ...(visitor !== undefined && { visitor: String(cell(row, visitor)) }),
      probability: numberIn(`row ${row}, ${probability}`, cell(row, probability)),
      get points() {
        const known = context.filter((name) => !isEmpty(cell(row, name)));
        return features.points(Object.fromEntries(known.map((name) => [name, cell(row, name)])) as NamedFeatures, actions);
      },
    };
  };
  let end = 0;
  for (let row = 0; row < length; row++) {
    const { shownAt, conversions = [] } = at(row);
    end = Math.max(end, shownAt, ...conversions.map(({ at }) => at));
  }
  return { log: { length, at }, dimension: (completed as EncoderOptions).dimension, end };
}

/** Reads cells of a frame, whichever form it has. @throws {TypeError | RangeError} for columns of different lengths. */
function readerOf(frame: Frame) {
  if (Array.isArray(frame)) {
    const rows = frame as readonly Readonly<Record<string, unknown>>[];
    const names = rows.length > 0 ? Object.keys(record("frame[0]", rows[0])) : [];
    return { length: rows.length, names, cell: (row: number, name: string) => rows[row][name] };
  }
  const columns = record("frame", frame) as Record<string, ArrayLike<unknown>>;
  const names = Object.keys(columns);
  const { length = 0 } = columns[names[0]] ?? {};
  for (const name of names) {
    if (typeof columns[name]?.length !== "number") throw wrongType(`frame.${name}`, "an array", columns[name]);
    if (columns[name].length !== length) throw outOfRange(`frame.${name}`, `${length} rows, as in ${names[0]}`, columns[name].length);
  }
  return { length, names, cell: (row: number, name: string) => columns[name][row] };
}

const isEmpty = (cell: unknown): boolean => cell === undefined || cell === null || cell === "";

/** A number, or the text of one. */
function numberIn(name: string, cell: unknown): number {
  if (typeof cell === "boolean") return Number(cell);
  return finiteNumber(name, typeof cell === "string" && cell.trim() !== "" ? Number(cell) : cell);
}

/** A time in ms since 1970. */
function timeIn(name: string, cell: unknown): number {
  if (cell instanceof Date) return finiteNumber(name, cell.getTime());
  if (typeof cell !== "string") return finiteNumber(name, typeof cell === "bigint" ? Number(cell) : cell);
  const time = Date.parse(/(z|[+-]\d\d:?\d\d)$/i.test(cell) ? cell : `${cell}Z`);
  if (Number.isNaN(time)) throw outOfRange(name, "a time as ms since 1970, a Date or ISO 8601", cell);
  return time;
}
