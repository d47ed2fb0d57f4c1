// Compares what the worker acknowledged during a soak with the log that it exports at the end. Times are ms since 1970. UUIDs name
// impressions.

import { closesAt, type Timing } from "../../worker/domain/impression/bucket.ts";

/** A conversion, restatement or retraction that the worker answered with a 2xx. */
export interface Accepted {
  /** Id of the webhook. Together with the impression it names the event, because a webhook has at most one item per impression. */
  readonly webhook: string;
  readonly impression: string;
  readonly shownAt: number;
  /** Time of the conversion. */
  readonly at: number;
  /** Null if retracted. */
  readonly reward: number | null;
  /** Time of the first attempt. */
  readonly sentAt: number;
  /** Time of the first 2xx. */
  readonly acceptedAt: number;
  /** Status in each answer. */
  readonly statuses: readonly string[];
}

export interface LoggedImpression {
  readonly type: "impression";
  readonly id: string;
  readonly shownAt: number;
  readonly round: number;
  readonly features: readonly number[];
  readonly reward: number | null;
}

export interface LoggedConversion {
  readonly type: "conversion";
  /** Id of the event. It begins with the webhook's id. */
  readonly event: string;
  readonly impression: string;
  readonly at: number;
  readonly reward: number | null;
  readonly status: string;
}

export interface Evidence {
  readonly timing: Timing;
  /** Time at which each recommendation was answered, by impression. */
  readonly answered: ReadonlyMap<string, number>;
  readonly accepted: readonly Accepted[];
  /** Times at which the worker was killed. */
  readonly kills: readonly number[];
  /** While the learner could not be reached. */
  readonly outage?: { readonly from: number; readonly until: number };
  /** The worker's event log. */
  readonly impressions: readonly LoggedImpression[];
  readonly conversions: readonly LoggedConversion[];
  /** Rewards in the answers of `GET /v1/impressions/:id`. Impressions that were not requested or not known are absent. */
  readonly answeredRewards: ReadonlyMap<string, number | null>;
  /** The worker's counters. */
  readonly counts: Readonly<Record<"impressions" | "applied" | "conflict" | "late" | "orphan" | "duplicate", number>>;
  /** Digest of the model. */
  readonly digest: string;
  /** Digest of a model that learns the log offline. */
  readonly foldedDigest: string;
}

/** Impressions answered longer than this before a kill must be registered. */
const REGISTERED_WITHIN_MS = 3_000;
/** Answers of a killed worker arrive within this time. */
const ANSWERED_WITHIN_MS = 1_000;
/** An alarm closes each bucket, at most this long after it is due. */
export const CLOSED_WITHIN_MS = 5_000;
const NAMED_AT_MOST = 3;

export function tally({ answered, accepted, impressions, conversions, counts }: Evidence) {
  const registered = new Set(impressions.map(({ id }) => id));
  const entered = new Set(conversions.map(nameOf));
  const count = (...statuses: string[]) => conversions.filter(({ status }) => statuses.includes(status)).length;
  return {
    accepted: accepted.length,
    joined: count("applied", "conflict"),
    late: count("late"),
    orphan: count("orphan"),
    /** Accepted, but absent from the log. */
    pending: accepted.filter((event) => !entered.has(nameOf(event))).length,
    /** Taken by KV alone, because the learner could not be reached. */
    journalled: accepted.filter(({ statuses }) => statuses[0] === "accepted").length,
    /** Repeated deliveries. */
    duplicate: counts.duplicate,
    /** Impressions that were answered but never registered. */
    lost: Array.from(answered.keys()).filter((id) => !registered.has(id)).length,
  };
}

/** The name of an event. It is the same for the sent and the logged event. */
export function nameOf(event: Accepted | LoggedConversion): string {
  const webhook = "webhook" in event ? event.webhook : event.event.match(/^\w+/)?.[0];
  return `${webhook} of ${event.impression}`;
}

/** One sentence per failed check. */
export function breaches(evidence: Evidence): string[] {
  const { accepted, joined, late, orphan, pending, journalled } = tally(evidence);
  const { impressions, conversions, counts, digest, foldedDigest } = evidence;
  const names = [...impressions.map(({ id }) => id), ...conversions.map(nameOf)];
  return [
    ...differing("accepted conversions and joined, late, orphaned or pending ones", accepted, joined + late + orphan + pending),
    ...differing("pending conversions after all buckets were closed and zero", pending, 0),
    ...differing("impressions counted and logged", counts.impressions, impressions.length),
    ...differing("joined conversions counted and logged", counts.applied + counts.conflict, joined),
    ...differing("late conversions counted and logged", counts.late, late),
    ...differing("orphans counted and logged", counts.orphan, orphan),
    ...differing("digests of the model and of its folded log", digest, foldedDigest),
    ...listed("logged twice", repeated(names)),
    ...listed("answered with an unexpected status", misanswered(evidence)),
    ...listed("answered otherwise than accepted during the outage", reached(evidence)),
    ...(evidence.outage && journalled === 0 ? ["expected conversions answered accepted during the outage, got none"] : []),
    ...listed("logged differently than sent", altered(evidence)),
    ...listed("logged with the wrong status", misjudged(evidence)),
    ...listed("with a reward that differs from its conversions", misrewarded(evidence)),
    ...listed("lost without a kill, or although the worker knows it", lostForNoReason(evidence)),
  ];
}

function differing<Value>(what: string, one: Value, other: Value): string[] {
  return one === other ? [] : [`expected equal ${what}: got ${one} and ${other}`];
}

function listed(what: string, items: readonly string[]): string[] {
  if (items.length === 0) return [];
  const more = items.length > NAMED_AT_MOST ? " and others" : "";
  return [`${items.length} ${what}: ${items.slice(0, NAMED_AT_MOST).join("; ")}${more}`];
}

function repeated(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.filter((name) => seen.size === seen.add(name).size);
}

const FIRST_ANSWERS = ["accepted", "applied", "late", "orphan", "duplicate"];
const REPEATED_ANSWERS = ["accepted", "duplicate"];

function misanswered({ accepted }: Evidence): string[] {
  return accepted.filter(({ statuses }) => !isRight(statuses)).map((event) => `${nameOf(event)} (${event.statuses.join(", then ")})`);
}

function isRight([first, ...repeated]: readonly string[]): boolean {
  // A repetition is the first delivery to reach the learner if only KV took the event before.
  if (first === "accepted" && repeated.length === 1 && repeated[0] === "applied") return true;
  return FIRST_ANSWERS.includes(first) && repeated.every((status) => REPEATED_ANSWERS.includes(status));
}

/** Conversions whose answer came from the learner although no request reached it. */
function reached({ accepted, outage }: Evidence): string[] {
  if (!outage) return [];
  const { from, until } = outage;
  const during = accepted.filter(({ sentAt, acceptedAt }) => sentAt > from && acceptedAt < until);
  return during.filter(({ statuses }) => statuses[0] !== "accepted").map((event) => `${nameOf(event)} (${event.statuses[0]})`);
}

function altered({ accepted, conversions }: Evidence): string[] {
  const sent = new Map(accepted.map((event) => [nameOf(event), event]));
  const isAsSent = (conversion: LoggedConversion) => {
    const original = sent.get(nameOf(conversion));
    return original?.at === conversion.at && original.reward === conversion.reward;
  };
  return conversions.filter((conversion) => !isAsSent(conversion)).map(nameOf);
}

/** Conversions whose status contradicts their time, their delivery or their impression's registration. */
function misjudged({ accepted, impressions, conversions, timing }: Evidence): string[] {
  const registered = new Set(impressions.map(({ id }) => id));
  const entered = new Map(conversions.map((conversion) => [nameOf(conversion), conversion.status]));
  return accepted.flatMap((event) => {
    const status = entered.get(nameOf(event));
    const expected = statusesOf(event, registered.has(event.impression), timing);
    return status === undefined || expected.includes(status) ? [] : [`${nameOf(event)} (${status} instead of ${expected.join(" or ")})`];
  });
}

function statusesOf({ at, shownAt, sentAt, acceptedAt }: Accepted, registered: boolean, timing: Timing): string[] {
  const closes = closesAt(shownAt, timing);
  if (sentAt >= closes + CLOSED_WITHIN_MS || (registered && at - shownAt > timing.windowMs)) return ["late"];
  const inTime = registered ? "applied" : "orphan";
  return acceptedAt < closes ? [inTime] : [inTime, "late"];
}

function misrewarded({ impressions, conversions, answeredRewards }: Evidence): string[] {
  const outcomes = outcomesOf(conversions);
  return impressions.flatMap(({ id, reward }) => {
    const expected = outcomes.get(id) ?? 0;
    const both = answeredRewards.has(id) ? [reward, answeredRewards.get(id)] : [reward];
    // A retraction that arrives first leaves the reward at null, which equals 0 here.
    return both.every((each) => (each ?? 0) === expected) ? [] : [`${id} (${both.join(" and ")} instead of ${expected})`];
  });
}

/** Final reward per impression: that of the conversion with the greatest (time, event), or 0 if this one is a retraction. */
export function outcomesOf(conversions: readonly LoggedConversion[]): Map<string, number> {
  const winners = new Map<string, LoggedConversion>();
  for (const conversion of conversions) {
    if (conversion.status !== "applied" && conversion.status !== "conflict") continue;
    const { impression, at, event } = conversion;
    const winner = winners.get(impression);
    if (!winner || at > winner.at || (at === winner.at && event > winner.event)) winners.set(impression, conversion);
  }
  return new Map(Array.from(winners, ([impression, { reward }]) => [impression, reward ?? 0]));
}

function lostForNoReason({ answered, impressions, kills, answeredRewards }: Evidence): string[] {
  const registered = new Set(impressions.map(({ id }) => id));
  const lost = Array.from(answered).filter(([id]) => !registered.has(id));
  const killed = (at: number) => kills.some((kill) => at > kill - REGISTERED_WITHIN_MS && at < kill + ANSWERED_WITHIN_MS);
  return lost.filter(([id, at]) => answeredRewards.has(id) || !killed(at)).map(([id, at]) => `${id} (answered at ${at})`);
}
