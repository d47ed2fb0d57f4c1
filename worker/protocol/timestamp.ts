import * as v from "valibot";
import { finite } from "./forms.ts";
import { got } from "./sentence.ts";

/** The last time that a token can state. */
export const LAST_MS = 2 ** 47;

/** Numbers from the first to below the second: as milliseconds, days of 1970 to 1973. As seconds, they are times since 2001. */
export const SECONDS = [1e9, 1e11] as const;
const isSeconds = (value: number): boolean => value >= SECONDS[0] && value < SECONDS[1];
const TIME = "expected milliseconds since 1970, or ISO 8601 with a zone such as 2026-01-31T12:00:00Z";
const milliseconds = v.pipe(
  finite,
  v.check(
    (value) => !isSeconds(value),
    ({ input }) => `${TIME}, got ${input}, which are seconds: multiply by 1000`,
  ),
  v.check(
    (value) => value <= LAST_MS,
    ({ input }) => `${TIME}, got ${input}, which is too large: are these microseconds?`,
  ),
);
const isoTime = v.pipe(
  v.string(),
  v.isoTimestamp(({ input }) => `${TIME}, got ${got(input)}${isLocalTime(input) ? ", which has no zone: add Z for UTC" : ""}`),
);
/** JavaScript reads no offset of hours alone, nor one after a space. */
const withMinutes = (text: string): string => text.replace(/ (?=[+-])/, "").replace(/([+-]\d\d)$/, "$1:00");
const isLocalTime = (text: string): boolean => /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text);

/** Milliseconds since 1970, or ISO 8601. A time in seconds or without a zone is refused, never guessed. */
export const timestamp = v.pipe(
  v.union([milliseconds, isoTime], ({ input }) => `${TIME}, got ${got(input)}`),
  v.transform((value) => (typeof value === "string" ? Date.parse(withMinutes(value)) : value)),
  v.safeInteger(),
  v.minValue(0),
  v.maxValue(LAST_MS),
);
