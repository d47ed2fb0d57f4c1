import { expect, it } from "vitest";
import { IdTable } from "../../../../cli/log/id-table.ts";
import { lateLines } from "../../../../cli/log/late-lines.ts";
import { LoggedReports } from "../../../../cli/log/logged-reports.ts";
import { stream } from "../../../../src/simulation/stream.ts";
import type { ConversionLine, EventLine, ImpressionLine } from "../../../../worker/domain/log/log-line.ts";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const MIDNIGHT = Date.parse("2026-03-01");
const END = MIDNIGHT + 9 * DAY + 16 * HOUR;
const UPLOAD = MIDNIGHT + 9 * DAY + 2 * HOUR;

interface Shop {
  /** When an event of a time is reported. */
  deliver(at: number): number;
  readonly shards?: number;
  readonly more?: Partial<ConversionLine>;
}

/** The lines of a shop with an impression every ten minutes, of which a third converts within hours, in the order of arrival. */
function linesOf({ deliver, shards = 1, more = {} }: Shop): EventLine[] {
  const random = stream("log");
  const lines: { readonly arrived: number; readonly line: Partial<EventLine> }[] = [];
  for (let shownAt = MIDNIGHT; shownAt < END; shownAt += 10 * MINUTE) {
    const shard = Math.floor(shards * random());
    const own = { ...(shard > 0 && { shard }), id: `i${shownAt}` };
    lines.push({ arrived: shownAt + 3000, line: { type: "impression", state: "live", ...own, shownAt } as ImpressionLine });
    const at = Math.floor(shownAt + 8 * HOUR * random());
    const line = { type: "conversion", ...own, impression: own.id, goal: "purchase", reward: 1, at, status: "applied", ...more };
    if (random() < 1 / 3 && deliver(at) <= END) lines.push({ arrived: deliver(at), line: line as Partial<ConversionLine> });
  }
  return lines.sort((a, b) => a.arrived - b.arrived).map(({ line }, seq) => ({ ...line, seq }) as EventLine);
}

function untilOf(lines: Iterable<EventLine>, goals?: readonly string[]): number {
  const [reports, ids] = [new LoggedReports(), new IdTable()];
  for (const line of lines) reports.note(line, ids.add(line.type === "conversion" ? line.impression : line.type === "mark" ? "" : line.id));
  return reports.completeUntil(goals, END);
}

const nightly = (at: number): number => MIDNIGHT + 2 * HOUR + Math.ceil((at - MIDNIGHT - 2 * HOUR) / DAY) * DAY;
const live = (at: number): number => at + 2000;

it("is the end of a log whose conversions stand beside the impressions of their time", () => {
  expect(untilOf(linesOf({ deliver: live }))).toBe(END);
  expect(untilOf(linesOf({ deliver: live, shards: 5 }))).toBe(END);
  expect(untilOf([])).toBe(END);
});

it("is the last upload of a log whose conversions stand together each night", () => {
  for (const shards of [1, 3]) {
    const until = untilOf(linesOf({ deliver: nightly, shards }));
    expect(until).toBeLessThanOrEqual(UPLOAD);
    expect(until).toBeGreaterThan(UPLOAD - HOUR);
  }
});

it("is that of the goals that are asked for", () => {
  const clicks = linesOf({ deliver: live, more: { goal: "click" } });
  const lines = linesOf({ deliver: nightly });
  const all = [...clicks, ...lines];
  expect(untilOf(clicks, ["click"])).toBe(END);
  expect(untilOf(lines, ["click"])).toBe(END);
  expect(untilOf(all)).toBeLessThanOrEqual(UPLOAD);
});

it("is not that of corrections, refunds, and what does not count", () => {
  const lines = linesOf({ deliver: live });
  const sold = lines.filter((line) => line.type === "conversion");
  const late = (more: Partial<ConversionLine>) => sold.map((line) => ({ ...line, at: line.at + MINUTE, ...more }) as EventLine);
  for (const more of [{}, { restates: true }, { reward: -1 }, { reward: null }, { reward: 0 }])
    expect(untilOf([...lines, ...late(more)])).toBe(END);
  const others = (status: ConversionLine["status"]) => late({ status }).map((line) => ({ ...line, impression: `other ${line.seq}` }));
  for (const status of ["void", "late", "refused"] as const) expect(untilOf([...lines, ...others(status)])).toBe(END);
});

it("is near the end of a log that has all impressions first, as a hand may write it", () => {
  const lines = linesOf({ deliver: live });
  const sorted = [...lines.filter(({ type }) => type === "impression"), ...lines.filter(({ type }) => type === "conversion")];
  expect(END - untilOf(sorted)).toBeLessThan(HOUR);
  const reversed = [...lines].reverse();
  expect(END - untilOf(reversed)).toBeLessThan(HOUR);
});

it("is said if it is earlier than the end, and a warning if figures are as of a later time", () => {
  const times = { asOf: UPLOAD, completeUntil: UPLOAD, end: END };
  expect(lateLines(times)).toEqual(["  later conversions are not all in the log: they are reported late, as in a nightly upload"]);
  expect(lateLines({ ...times, asOf: END })).toEqual([
    "  warning: the log has all conversions until 2026-03-10T02:00:00.000Z only, because they are reported late",
  ]);
  expect(lateLines({ ...times, asOf: UPLOAD - DAY })).toEqual([]);
  expect(lateLines({ ...times, asOf: END, completeUntil: END })).toEqual([]);
});
