// The decisions of a model's own log, as an evaluation takes them: with the catalogue and the settings of their time.

import { CLOCK_TOLERANCE_MS, ENCODER_VERSION, Recommender, uniform } from "afterclick";
import type { Featurizer } from "../../src/publication/featurizer.ts";
import { Catalogue, changedBy } from "../../worker/domain/catalogue/catalogue.ts";
import type { Rules } from "../../worker/domain/conversion/refusal.ts";
import { freeCandidates } from "../../worker/domain/decision/offer.ts";
import { isRandomList } from "../../worker/domain/decision/random-list.ts";
import { isPinned } from "../../worker/domain/impression/impression.ts";
import type { ConversionLine, ImpressionLine } from "../../worker/domain/log/log-line.ts";
import { learntGoals } from "../../worker/domain/model/goals.ts";
import { featurizer, type ModelConfig } from "../../worker/domain/model/model.ts";
import { distinctLines, type Log } from "../log/distinct-lines.ts";
import { type EventLine, LogMismatch, nameOf } from "../log/event-line.ts";
import { LEAST_SHARE } from "../replay/open-bandit.ts";
import { loggedConversions, type TimedConversion } from "./logged-conversions.ts";
import { type Source, type SourceDecision, SourceError, type SourceOptions } from "./source.ts";
import { listsOf, type Placed } from "./source-lists.ts";

/** Configuration and catalogue from event `since` on. */
interface Setting {
  readonly since: number;
  readonly config: ModelConfig;
  readonly featurize: Featurizer;
  readonly catalogue: Catalogue;
}

/**
 * Reads the log of a model as its worker exports or archives it. The first place of each list is a decision of its own.
 * @throws {SourceError} if the log has no configuration, so that the candidates are unknown.
 * @throws {LogMismatch} at a malformed line.
 */
export async function lineSource(log: Log, { progress, asOf }: SourceOptions): Promise<Source> {
  let features = 0;
  const keep = (line: EventLine): EventLine => {
    if (line.type !== "impression") return line;
    features ||= line.features.length;
    // Candidates are encoded again, so the longest part of a line is not kept.
    return { ...line, features: [] };
  };
  const distinct = await distinctLines(log, { progress, keeps: () => false });
  const { end, repeated } = distinct;
  const lines: EventLine[] = [];
  const conversions = new Map<string, TimedConversion[]>();
  let reportedAfter = 0;
  for await (const line of distinct.lines(progress)) {
    if (line.type === "impression") reportedAfter = Math.max(reportedAfter, line.shownAt);
    if (line.type !== "conversion") lines.push(keep(line));
    else conversions.set(line.impression, [...(conversions.get(line.impression) ?? []), { ...line, reportedAfter }]);
  }
  const settings = settingsOf(lines);
  const impressions = lines.filter((line) => line.type === "impression");
  const last = settings.at(-1);
  if (!last) throw new SourceError("expected a log with the model's configuration, got none: export the log again from an updated worker");
  const { config } = last;
  const { goals, window, reward } = config;
  const leftOut = new Map<string, number>();
  const leaveOut = (why: string): unknown => leftOut.set(why, (leftOut.get(why) ?? 0) + 1);
  const placed = impressions.flatMap((line): Placed[] => {
    const why = unusable(line);
    if (why) leaveOut(why);
    if (why) return [];
    checkShare(line);
    const own = conversions.get(line.id) ?? [];
    for (const conversion of own) checkTime(conversion, line);
    try {
      return [{ line, decision: decisionOf(line, settings, own, { rules: config, asOf: asOf ?? end }) }];
    } catch (error) {
      throw notRepeated(line, error as Error);
    }
  });
  const first = placed.filter(({ line, decision }) => {
    const why = line.decision?.place !== 0 ? "below the first place of a list" : decision.pinned && "pinned, without a choice";
    if (why) leaveOut(why);
    return !why;
  });
  const given = (config.options as { readonly dimension?: number }).dimension;
  const dimension = config.encoder?.dimension ?? given ?? features;
  const decisions = first.map(({ decision }) => decision);
  // The random orders of a minimum share depend on the seed alone.
  const { policy } = await Recommender.create({ policy: uniform(), window: "none", seed: config.seed });
  const isRandom = ({ id, arm, decision, version }: ImpressionLine): boolean =>
    isRandomList(policy, settingAt(settings, version).config, { first: decision?.first ?? id, arm, candidates: decision?.candidates ?? 0 });
  const lists = listsOf(placed, isRandom);
  return {
    decisions,
    lists,
    leftOut,
    dimension,
    window,
    ...(goals && { goals: learntGoals(goals) }),
    reward,
    end,
    repeated,
  };
}

/**
 * The settings in order of events. A file of several exports may have another order. The model's configuration and catalogue are those of
 * shard 0.
 */
function settingsOf(lines: readonly EventLine[]): Setting[] {
  const settings: Setting[] = [];
  const marks = lines.filter((line) => line.type === "mark" && !line.shard) as Extract<EventLine, { type: "mark" }>[];
  for (const line of marks.toSorted((a, b) => a.seq - b.seq)) {
    try {
      addSetting(settings, line);
    } catch (error) {
      throw new LogMismatch(`${nameOf(line)}: expected what the worker exported, got a changed line: ${(error as Error).message}`);
    }
  }
  return settings;
}

function addSetting(settings: Setting[], line: Extract<EventLine, { type: "mark" }>): void {
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

function checkTime(conversion: ConversionLine, { shownAt }: ImpressionLine): void {
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

function notRepeated(line: ImpressionLine, { message }: Error): LogMismatch {
  return new LogMismatch(`${nameOf(line)}: expected a decision that can be repeated, got another: ${message}`);
}

function decisionOf(
  line: ImpressionLine,
  settings: readonly Setting[],
  conversions: readonly TimedConversion[],
  { rules, asOf }: { readonly rules: Rules; readonly asOf: number },
): SourceDecision {
  const { action, context, decision, shownAt, version, hashes } = line;
  const { featurize } = settingAt(settings, version);
  const { probability = 0, asked = {} } = decision ?? {};
  const { catalogue } = settingAt(settings, decision?.catalogue ?? version);
  const { candidates, bounds } = freeCandidates(catalogue, { exclude: [], limit: 1, ...asked });
  const { actions } = candidates;
  const ids = actions.map(({ id }) => id);
  const index = ids.indexOf(action);
  const pinned = isPinned(line);
  if (index < 0 && !pinned) throw new RangeError(`${action} is none of the ${ids.length} candidates of its catalogue`);
  return {
    ids,
    shownAt,
    count: ids.length,
    // Computed on access, because the matrices of all decisions would not fit into memory.
    get points() {
      try {
        return featurize.points(context ?? undefined, actions);
      } catch (error) {
        throw notRepeated(line, error as Error);
      }
    },
    index,
    probability,
    kept: 2 ** -(line.sampling ?? 0),
    conversions: loggedConversions(conversions, { rules, shownAt, asOf }),
    id: action,
    ...(hashes.length > 0 && { visitor: hashes[0] }),
    ...(pinned && { pinned: true }),
    ...(bounds && { families: bounds }),
  };
}
