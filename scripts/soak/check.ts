import { closesAt, type Timing } from "../../worker/domain/bucket.ts";

// Whether a soak's worker kept its promises. Times are ms since 1970; impressions are named by their UUIDs.

/** A conversion, restatement or retraction that its sender got a 2xx for. */
export interface Accepted {
  /** Names it, together with its impression: a webhook has one item of an impression at most. */
  readonly webhook: string;
  readonly impression: string;
  readonly shownAt: number;
  /** When it happened. */
  readonly at: number;
  /** Null: retracted. */
  readonly reward: number | null;
  /** When it was first sent, and when its first 2xx came. */
  readonly sentAt: number;
  readonly acceptedAt: number;
  /** What each answer said. */
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
  /** Begins with the webhook's id. */
  readonly event: string;
  readonly impression: string;
  readonly at: number;
  readonly reward: number | null;
  readonly status: string;
}

export interface Evidence {
  readonly timing: Timing;
  /** When each impression was answered. */
  readonly answered: ReadonlyMap<string, number>;
  readonly accepted: readonly Accepted[];
  /** When the worker was killed. */
  readonly kills: readonly number[];
  /** The worker's event log. */
  readonly impressions: readonly LoggedImpression[];
  readonly conversions: readonly LoggedConversion[];
  /** Rewards as `GET /v1/impressions/:id` tells them, of those impressions that it was asked for and knew. */
  readonly told: ReadonlyMap<string, number | null>;
  /** What the worker counts. */
  readonly counts: Readonly<Record<"impressions" | "applied" | "conflict" | "late" | "orphan" | "duplicate", number>>;
  /** Of the model, and of its log folded offline. */
  readonly digest: string;
  readonly foldedDigest: string;
}

export interface Tally {
  readonly accepted: number;
  readonly joined: number;
  readonly late: number;
  readonly orphan: number;
  /** Accepted, and nowhere in the log. */
  readonly pending: number;
  /** Further deliveries of what was known. */
  readonly duplicate: number;
  /** Impressions that were answered and never registered. */
  readonly lost: number;
}

/** What was answered longer than this before a kill is registered. */
const REGISTERED_WITHIN_MS = 3_000;
/** What a killed worker had answered is heard no later than this. */
const HEARD_WITHIN_MS = 1_000;
/** Books are closed by an alarm, somewhat after they are due. */
export const CLOSED_WITHIN_MS = 5_000;
const NAMED_AT_MOST = 3;

export function tally({ answered, accepted, impressions, conversions, counts }: Evidence): Tally {
  const registered = new Set(impressions.map(({ id }) => id));
  const entered = new Set(conversions.map(nameOf));
  const count = (...statuses: string[]) => conversions.filter(({ status }) => statuses.includes(status)).length;
  return {
    accepted: accepted.length,
    joined: count("applied", "conflict"),
    late: count("late"),
    orphan: count("orphan"),
    pending: accepted.filter((event) => !entered.has(nameOf(event))).length,
    duplicate: counts.duplicate,
    lost: Array.from(answered.keys()).filter((id) => !registered.has(id)).length,
  };
}

/** One name for an event as it was sent and as it was logged. */
function nameOf(event: Accepted | LoggedConversion): string {
  const webhook = "webhook" in event ? event.webhook : event.event.match(/^\w+/)?.[0];
  return `${webhook} of ${event.impression}`;
}

/** A sentence for each promise that was broken; none if all were kept. */
export function breaches(evidence: Evidence): string[] {
  const { accepted, joined, late, orphan, pending } = tally(evidence);
  const { impressions, conversions, counts, digest, foldedDigest } = evidence;
  const names = [...impressions.map(({ id }) => id), ...conversions.map(nameOf)];
  return [
    ...differing("accepted conversions and those joined, late, orphaned or pending", accepted, joined + late + orphan + pending),
    ...differing("pending conversions after all books were closed and none", pending, 0),
    ...differing("impressions counted and logged", counts.impressions, impressions.length),
    ...differing("joined conversions counted and logged", counts.applied + counts.conflict, joined),
    ...differing("late conversions counted and logged", counts.late, late),
    ...differing("orphans counted and logged", counts.orphan, orphan),
    ...differing("digests of the model and of its folded log", digest, foldedDigest),
    ...listed("logged twice", repeated(names)),
    ...listed("answered as it should not have been", misanswered(evidence)),
    ...listed("logged as something that was not sent", altered(evidence)),
    ...listed("logged with the wrong status", misjudged(evidence)),
    ...listed("with another reward than its conversions come to", misrewarded(evidence)),
    ...listed("lost, although no worker died then or although it is known", lostForNoReason(evidence)),
  ];
}

function differing<Value>(what: string, one: Value, other: Value): string[] {
  return one === other ? [] : [`expected as many or the same ${what}: got ${one} and ${other}`];
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

function misanswered({ accepted }: Evidence): string[] {
  const first = ["accepted", "applied", "late", "orphan", "duplicate"];
  const again = ["accepted", "duplicate"];
  return accepted
    .filter(({ statuses }) => statuses.some((status, i) => !(i === 0 ? first : again).includes(status)))
    .map((event) => `${nameOf(event)} (${event.statuses.join(", then ")})`);
}

function altered({ accepted, conversions }: Evidence): string[] {
  const sent = new Map(accepted.map((event) => [nameOf(event), event]));
  const isAsSent = (conversion: LoggedConversion) => {
    const original = sent.get(nameOf(conversion));
    return original?.at === conversion.at && original.reward === conversion.reward;
  };
  return conversions.filter((conversion) => !isAsSent(conversion)).map(nameOf);
}

/** Conversions whose status does not follow from when they happened, when they were delivered, and whether their impression is there. */
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

function misrewarded({ impressions, conversions, told }: Evidence): string[] {
  const outcomes = outcomesOf(conversions);
  return impressions.flatMap(({ id, reward }) => {
    const expected = outcomes.get(id) ?? 0;
    const both = told.has(id) ? [reward, told.get(id)] : [reward];
    // A retraction that comes first leaves an impression as if nothing had come: null then means what 0 does.
    return both.every((each) => (each ?? 0) === expected) ? [] : [`${id} (${both.join(" and ")} instead of ${expected})`];
  });
}

/** What the conversions of each impression come to: the reward of the one with the greatest (time, event), 0 if that is a retraction. */
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

function lostForNoReason({ answered, impressions, kills, told }: Evidence): string[] {
  const registered = new Set(impressions.map(({ id }) => id));
  const lost = Array.from(answered).filter(([id]) => !registered.has(id));
  return lost
    .filter(([id, at]) => told.has(id) || !kills.some((kill) => at > kill - REGISTERED_WITHIN_MS && at < kill + HEARD_WITHIN_MS))
    .map(([id, at]) => `${id} (answered at ${at})`);
}
