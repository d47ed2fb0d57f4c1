// Reads the times of senders, which may have another unit, or a zone that the text does not name.

import * as v from "valibot";
import { remembered } from "../../domain/ids/secret.ts";
import { got } from "../../protocol/sentence.ts";
import { LAST_MS, timestamp } from "../../protocol/timestamp.ts";

/** How a sender states times. Without both, times are in milliseconds or have a zone. */
export interface Clock {
  readonly unit?: keyof typeof UNITS;
  /** IANA name or offset of the zone of texts without one. */
  readonly zone?: string;
}

/** Units of a number, in ms. */
export const UNITS = { seconds: 1000, milliseconds: 1, microseconds: 0.001 } as const;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Any time before 1973 is a number in another unit. */
const FIRST_MS = 1e11;
const NUMBER = /^\d+(\.\d+)?$/;
const LOCAL = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)$/;
/** RFC 2822, such as Tue, 31 Mar 2026 12:00:00 +0000. */
const MAIL = /^[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:[+-]\d{4}|GMT|UTC?)$/;

const EXPECTED = "expected milliseconds since 1970, or a date and a time with a zone";
const REMEDY = `. State the "unit" of the sender's numbers, or the "zone" of its local times, in AFTERCLICK_SENDERS`;

export const zone = v.pipe(
  v.string(),
  v.check(isZone, "expected the name of a zone such as Europe/Berlin or UTC, or an offset such as +02:00"),
);

/** Reads a time that a sender states, in ms since 1970. */
export function senderTime({ unit, zone }: Clock): v.GenericSchema<unknown, number> {
  return v.pipe(
    v.unknown(),
    v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
      const at = readingOf(value, { unit, zone });
      if (typeof at === "number") return at;
      addIssue({ message: at });
      return NEVER;
    }),
  );
}

/** Milliseconds since 1970, or what is wrong with the time. */
function readingOf(value: unknown, { unit, zone }: Clock): number | string {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "";
  if (unit && NUMBER.test(text)) {
    const at = Math.round(Number(text) * UNITS[unit]);
    return at >= FIRST_MS && at <= LAST_MS ? at : `expected ${unit} since 1970, got ${got(value)}${REMEDY}`;
  }
  const [, date, time] = LOCAL.exec(text) ?? [];
  if (zone && date) {
    const at = instantOf(`${date}T${time}`, zone);
    return Number.isNaN(at) ? `${EXPECTED}, got ${got(value)}` : at;
  }
  if (MAIL.test(text) && !Number.isNaN(Date.parse(text))) return Date.parse(text);
  const read = v.safeParse(timestamp, typeof value === "string" ? text : value);
  return read.success ? read.output : `${EXPECTED}, got ${got(value)}${REMEDY}`;
}

/** The instant of a local time. Of an hour that a change of clocks repeats, the first counts. A skipped hour is read as if clocks had not changed. */
function instantOf(local: string, zone: string): number {
  const asUtc = Date.parse(`${local}Z`);
  if (Number.isNaN(asUtc)) return Number.NaN;
  const [before, after] = [asUtc - DAY_MS, asUtc + DAY_MS].map((at) => asUtc - offsetAt(zone, at));
  return [before, after].find((at) => at + offsetAt(zone, at) === asUtc) ?? before;
}

const formatOf = remembered((zone: string) => {
  return new Intl.DateTimeFormat("en", { timeZone: zone === "Z" ? "UTC" : zone, timeZoneName: "longOffset" });
});

/** Time of a zone minus UTC, in ms. */
function offsetAt(zone: string, at: number): number {
  const name = formatOf(zone)
    .formatToParts(at)
    .find(({ type }) => type === "timeZoneName")?.value;
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(name ?? "") ?? ["", "+", "0", "0"];
  return (sign === "-" ? -1 : 1) * (60 * Number(hours) + Number(minutes)) * MINUTE_MS;
}

function isZone(zone: string): boolean {
  try {
    return formatOf(zone) !== undefined;
  } catch {
    return false;
  }
}
