import type { HoldoutShare } from "../../worker/domain/figures/holdout-share.ts";
import type { MarkLine } from "../../worker/domain/log/log-line.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import { type DistinctLines, distinctLines, type Log, type Progress } from "../log/distinct-lines.ts";
import { LogMismatch } from "../log/event-line.ts";

/** A model's log after the first reading. */
export interface LoggedLines extends DistinctLines {
  /** The model's configuration at the end of the log, and all that it had. */
  readonly config: ModelConfig;
  readonly configs: readonly ModelConfig[];
  /** Shares of the holdout by version of the model, which is also a row of shard 0. */
  readonly decided: readonly HoldoutShare[];
  /** Goals of all conversions. */
  readonly reached: ReadonlySet<string>;
}

/** @throws {LogMismatch} at a malformed line, at the head of another model, and at two lines of one number. */
export async function loggedLines(log: Log, progress: Progress): Promise<LoggedLines> {
  const reached = new Set<string>();
  const lines = await distinctLines(log, {
    progress,
    keeps: (line) => configOf(line) !== undefined,
    visit: (line) => void (line.type === "conversion" && reached.add(line.goal)),
  });
  const own = lines.marks.map((line) => ({ seq: line.seq, config: configOf(line) as ModelConfig }));
  const config = own.at(-1)?.config;
  if (!config) throw new LogMismatch("expected a log with the model's configuration, got none");
  const decided = own.map(({ seq, config }) => ({ since: seq, holdout: config.holdout }));
  return { ...lines, config, configs: own.map((each) => each.config), decided, reached };
}

function configOf(line: MarkLine): ModelConfig | undefined {
  if (line.mark === "configuration") return line.content;
  return line.mark === "relearnt" ? line.content.config : undefined;
}
