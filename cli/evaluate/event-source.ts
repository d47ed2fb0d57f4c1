// The decisions of a model's own log, as an evaluation takes them: with the catalogue and the settings of their time.

import { Recommender, uniform } from "afterclick";
import type { Featurizer } from "afterclick/research";
import { CLOCK_TOLERANCE_MS, ENCODER_VERSION } from "afterclick/research";
import { Catalogue, changedBy } from "../../worker/domain/catalogue/catalogue.ts";
import { isRandomList } from "../../worker/domain/decision/random-list.ts";
import type { ConversionLine, ImpressionLine, MarkLine } from "../../worker/domain/log/log-line.ts";
import { learntGoals } from "../../worker/domain/model/goals.ts";
import { featurizer, type ModelConfig } from "../../worker/domain/model/model.ts";
import { Column } from "../log/column.ts";
import { ConversionJoin } from "../log/conversion-join.ts";
import { type DistinctLines, distinctLines, type Log } from "../log/distinct-lines.ts";
import { type EventLine, LogMismatch, nameOf } from "../log/event-line.ts";
import { LEAST_SHARE } from "../replay/open-bandit.ts";
import { type Decided, EventDecisions, notRepeated } from "./event-decisions.ts";
import { loggedConversions, type TimedConversion } from "./logged-conversions.ts";
import { type Source, SourceError, type SourceOptions } from "./source.ts";
import { PlacedDecisions } from "./source-lists.ts";

/** Configuration and catalogue from event `since` on. */
interface Setting {
  readonly since: number;
  readonly config: ModelConfig;
  readonly featurize: Featurizer;
  readonly catalogue: Catalogue;
}

/** An impression whose conversions are to come. `number`: that of its decision, if it is evaluated. */
interface Shown {
  readonly shownAt: number;
  readonly number: number | undefined;
}

const SETTINGS = ["configuration", "relearnt", "actions"];

/**
 * Reads the log of a model as its worker exports or archives it. The first place of each list is a decision of its own.
 * @throws {SourceError} if the log has no configuration, so that the candidates are unknown.
 * @throws {LogMismatch} at a malformed line.
 */
export async function lineSource(log: Log, { progress, checked = () => {}, asOf, lists = false }: SourceOptions): Promise<Source> {
  let features = 0;
  const visit = (line: EventLine): void => {
    if (line.type === "impression") features ||= line.features.length;
  };
  const distinct = await distinctLines(log, { progress: checked, keeps: ({ mark }) => SETTINGS.includes(mark), visit });
  const { end, repeated, awaited } = distinct;
  const settings = settingsOf(distinct.marks);
  const last = settings.at(-1);
  if (!last) throw new SourceError("expected a log with the model's configuration, got none: export the log again from an updated worker");
  const { config } = last;
  const { goals, window, reward } = config;
  const all = new EventDecisions();
  const completeUntil = distinct.reports.completeUntil(goals ? Object.keys(goals) : undefined, end);
  // The random orders of a minimum share depend on the seed alone.
  const { policy } = await Recommender.create({ policy: uniform(), window: "none", seed: config.seed });
  const isRandom = ({ id, arm, decision, version }: ImpressionLine): boolean =>
    isRandomList(policy, settingAt(settings, version).config, { first: decision?.first ?? id, arm, candidates: decision?.candidates ?? 0 });
  const join = new ConversionJoin<Shown, TimedConversion>(awaited, ({ shownAt, number }, conversions) => {
    for (const conversion of conversions) checkTime(conversion, shownAt);
    const asked = { rules: config, shownAt, asOf: asOf ?? completeUntil };
    if (number !== undefined) all.convert(number, loggedConversions(conversions, asked));
  });
  const [unused, others] = [new Map<string, number>(), new Map<string, number>()];
  const leaveOut = (from: Map<string, number>, why: string): unknown => from.set(why, (from.get(why) ?? 0) + 1);
  const placed = lists ? new PlacedDecisions(all) : undefined;
  /** Numbers of the decisions at the first place of a list. */
  const first = new Column(Uint32Array);
  let length = 0;
  let reportedAfter = 0;
  for await (const line of distinct.lines(progress)) {
    if (line.type === "conversion") join.convert({ ...line, reportedAfter });
    if (line.type !== "impression") continue;
    const { id, shownAt, arm, decision } = line;
    reportedAfter = Math.max(reportedAfter, shownAt);
    const why = unusable(line);
    if (why) {
      leaveOut(unused, why);
      join.show(id, null);
      continue;
    }
    const decided = decidedBy(line, settings, all);
    const isBelow = decision?.place !== 0;
    const notFirst = isBelow ? "below the first place of a list" : decided.index < 0 && "pinned, without a choice";
    const number = placed || !notFirst ? all.add(decided) : undefined;
    join.show(id, { shownAt, number });
    if (notFirst) leaveOut(others, notFirst);
    if (number === undefined) continue;
    if (!notFirst) first.set(length++, number);
    placed?.add(number, {
      first: distinct.ids.add(decision?.first ?? id),
      place: decision?.place ?? 0,
      holdout: arm === "holdout",
      random: isRandom(line),
    });
  }
  join.end();
  const given = (config.options as { readonly dimension?: number }).dimension;
  return {
    decisions: { length, at: (number) => all.at(first.get(number)) },
    lists: placed?.lists(),
    leftOut: new Map([...unused, ...others]),
    dimension: config.encoder?.dimension ?? given ?? features,
    window,
    ...(goals && { goals: learntGoals(goals) }),
    reward,
    end,
    completeUntil,
    repeated,
  };
}

/** The settings in order of events. */
function settingsOf(marks: DistinctLines["marks"]): Setting[] {
  const settings: Setting[] = [];
  for (const line of marks) {
    try {
      addSetting(settings, line);
    } catch (error) {
      throw new LogMismatch(`${nameOf(line)}: expected what the worker exported, got a changed line: ${(error as Error).message}`);
    }
  }
  return settings;
}

function addSetting(settings: Setting[], line: MarkLine): void {
  const { seq: since } = line;
  const before = settings.at(-1);
  const catalogue = before?.catalogue ?? new Catalogue([]);
  if (line.mark === "configuration")
    settings.push({ since, config: line.content, featurize: featurizer(presentOf(line.content)), catalogue });
  else if (line.mark === "relearnt") {
    // Decisions before it are encoded as it encodes, so that all have the same features.
    const featurize = featurizer(presentOf(line.content.config));
    settings.forEach((setting, i) => {
      settings[i] = { ...setting, featurize };
    });
    settings.push({ since, config: line.content.config, featurize, catalogue });
  } else if (line.mark === "actions" && before) {
    settings.push({ ...before, since, catalogue: new Catalogue(changedBy(catalogue.actions, line.content), since) });
  }
}

/** The setting that a version of the model decided by. */
function settingAt(settings: readonly Setting[], version: number): Setting {
  return settings.findLast(({ since }) => since <= version) ?? settings[0];
}

/** Decisions of another version of the encoder are encoded by the present one, because the log is learnt anew. */
function presentOf(config: ModelConfig): ModelConfig {
  return config.encoder ? { ...config, encoder: { ...config.encoder, version: ENCODER_VERSION } } : config;
}

function checkShare(line: ImpressionLine): void {
  const { probability = 1 } = line.decision ?? {};
  if (probability >= LEAST_SHARE) return;
  throw new LogMismatch(`${nameOf(line)}: decision.probability: expected at least ${LEAST_SHARE}, got ${probability}; remove the line`);
}

function checkTime(conversion: ConversionLine, shownAt: number): void {
  if (conversion.at >= shownAt - CLOCK_TOLERANCE_MS) return;
  throw new LogMismatch(
    `${nameOf(conversion)}: at: expected at most five minutes before the impression, got ${conversion.at}; correct the time, or remove the line`,
  );
}

/** The reason why an impression cannot be used. Undefined if it can. */
function unusable({ state, arm, decision }: ImpressionLine): string | undefined {
  if (state !== "live") return "never shown, or rolled back";
  if (decision?.probability === undefined) return "without a probability";
  if (decision.candidates === null) return "decided elsewhere, or in the policy's own domain";
  return arm === "default" ? "the default action, without a choice" : undefined;
}

function decidedBy(line: ImpressionLine & EventLine, settings: readonly Setting[], decisions: EventDecisions): Decided {
  const { decision, version } = line;
  checkShare(line);
  const { featurize } = settingAt(settings, version);
  const { catalogue } = settingAt(settings, decision?.catalogue ?? version);
  const offer = decisions.offers.numberOf(featurize, catalogue, decision?.asked ?? {});
  try {
    return decisions.decided(line, offer);
  } catch (error) {
    throw notRepeated(nameOf(line), error as Error);
  }
}
