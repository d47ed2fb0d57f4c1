import type * as Log from "../../worker/domain/log/log-line.ts";
import { impressionOf } from "../../worker/domain/log/log-line.ts";

export interface Origin {
  /** A row of the archive is in the state of this version. */
  readonly archivedAt?: number;
  /** Number of the line in its file, from 1. Absent for a row of the archive. */
  readonly line?: number;
}

/** A line of a log, with its origin. */
export type EventLine = Log.EventLine & Origin;
export type HeadLine = Log.HeadLine & Origin;

/** A log that differs from the worker's. The message names the line and the difference. */
export class LogMismatch extends Error {
  override readonly name = "LogMismatch";
}

/** The name of a line in messages. */
export function nameOf(line: (Log.EventLine | Log.HeadLine | Log.EndLine) & Origin): string {
  const number = line.line === undefined ? [] : [`line ${line.line}`];
  if (line.type === "model") return [...number, "the head"].join(", ");
  if (line.type === "end") return [...number, "the end"].join(", ");
  const event = `event ${line.seq}${line.shard === undefined ? "" : ` of shard ${line.shard}`}`;
  const what = line.type === "mark" ? line.mark : `${line.type} ${line.type === "conversion" ? "of " : ""}${impressionOf(line)}`;
  return [...number, event, what].join(", ");
}
