import type { HoldoutShare } from "../../worker/domain/figures/holdout-share.ts";
import type { ConversionLine, ImpressionLine } from "../../worker/domain/log/log-line.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import { distinctLines } from "../log/distinct-lines.ts";
import { LogMismatch } from "../log/event-line.ts";
import { linesOf, type Texts } from "../log/event-log.ts";

/** The lines of a model's log that a comparison reads. */
export interface LoggedLines {
  readonly model: string;
  /** When the log was exported. */
  readonly end: number;
  /** The model's configuration at the end of the log, and all that it had. */
  readonly config: ModelConfig;
  readonly configs: readonly ModelConfig[];
  /** Shares of the holdout by version of the model, which is also a row of shard 0. */
  readonly decided: readonly HoldoutShare[];
  /** Impressions that were shown. */
  readonly impressions: readonly ImpressionLine[];
  /** Goals of all conversions. */
  readonly reached: ReadonlySet<string>;
  /** Conversions of an impression. */
  conversionsOf(impression: string): readonly ConversionLine[];
  /** Number of lines that stood in the log before. */
  readonly repeated: number;
}

/** @throws {LogMismatch} at a malformed line, at the head of another model, and at two lines of one number. */
export async function loggedLines(texts: Texts, progress: (done: number, all: number) => void): Promise<LoggedLines> {
  const { model, end, lines, repeated } = await distinctLines(linesOf(texts, { receipts: false }), { progress, keep: (line) => line });
  const configs = lines.flatMap((line) => {
    if (line.type !== "mark" || line.shard !== undefined) return [];
    const config = line.mark === "configuration" ? line.content : line.mark === "relearnt" ? line.content.config : undefined;
    return config ? [{ seq: line.seq, config }] : [];
  });
  const impressions = lines.filter((line) => line.type === "impression" && line.state === "live") as ImpressionLine[];
  const conversions = lines.filter((line) => line.type === "conversion");
  const ofImpressions = Map.groupBy(conversions, ({ impression }) => impression);
  const own = configs.toSorted((a, b) => a.seq - b.seq);
  const config = own.at(-1)?.config;
  if (!config) throw new LogMismatch("expected a log with the model's configuration, got none");
  const decided = own.map(({ seq, config }) => ({ since: seq, holdout: config.holdout }));
  return {
    ...{ model, end, config, configs: own.map((each) => each.config), decided, impressions, repeated },
    reached: new Set(conversions.map(({ goal }) => goal)),
    conversionsOf: (impression) => ofImpressions.get(impression) ?? [],
  };
}
