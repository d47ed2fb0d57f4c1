// Until when the conversions of a log are reported. Lines state no time of arrival, but they stand in the order of arrival.

import { addedReports, completeUntil, type Reports, withReport } from "../../worker/domain/figures/reports.ts";
import type { ConversionLine } from "../../worker/domain/log/log-line.ts";
import { Column } from "./column.ts";
import type { EventLine } from "./event-line.ts";

/** An upload ends when the log does, or after a pause as long. */
const PAUSE_MS = 900_000;
/** A conversion with another status has been undone, came too late to count, or was refused. */
const STATUSES: readonly ConversionLine["status"][] = ["applied", "conflict", "orphan"];

/**
 * How late the first reports of each goal stand in a log. A conversion arrived after the impressions before it were shown, and before
 * those after it were registered. **Memory:** a byte per impression and goal.
 */
export class LoggedReports {
  /** The latest time shown so far, by shard: the lines of each are in an order of their own. */
  readonly #shown = new Map<number, number>();
  /** By goal and shard. */
  readonly #reports = new Map<string, Map<number, Reports>>();
  /** Impressions with a report, by goal. */
  readonly #reported = new Map<string, Column>();

  /** Notes a line in the order of the log. @param id number of the impression. */
  note(line: EventLine, id: number): void {
    const { shard = 0 } = line;
    const arrivedAt = this.#shown.get(shard);
    if (line.type === "impression" && line.state === "live") this.#shown.set(shard, Math.max(arrivedAt ?? 0, line.shownAt));
    if (line.type !== "conversion" || line.reward === null || line.reward <= 0) return;
    const reported = this.#reported.get(line.goal) ?? new Column(Uint8Array);
    this.#reported.set(line.goal, reported);
    const isFirst = reported.get(id) === 0;
    reported.set(id, 1);
    if (!isFirst || arrivedAt === undefined || !STATUSES.includes(line.status)) return;
    const own = this.#reports.get(line.goal) ?? new Map<number, Reports>();
    this.#reports.set(line.goal, own.set(shard, withReport(own.get(shard) ?? null, line.at, Math.max(arrivedAt, line.at))));
  }

  /**
   * The moment until which conversions are reported: of each of some goals, or of all.
   * @param end of the log. A source that reports at once is complete until then. Any other is not beyond its last report.
   */
  completeUntil(goals: readonly string[] | undefined, end: number): number {
    const own = Array.from(this.#reports).flatMap(([goal, shards]) =>
      (goals?.includes(goal) ?? true) ? [addedReports([...shards.values()])] : [],
    );
    const moments = own.flatMap((reports) => (reports && completeUntil(reports, end + PAUSE_MS, (_, atOnce) => !atOnce)) || []);
    return Math.min(end, ...moments);
  }
}
