import type { HoldoutShare } from "../../worker/domain/holdout-share.ts";
import type { ModelConfig } from "../../worker/domain/model.ts";
import {
  type ConversionLine,
  type EventLine,
  type HeadLine,
  type ImpressionLine,
  LogMismatch,
  linesOf,
  type Texts,
} from "../verify/event-log.ts";

type Assigned = ImpressionLine & { readonly shard?: number };

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
  readonly impressions: readonly Assigned[];
  /** Conversions of an impression. */
  conversionsOf(impression: string): readonly ConversionLine[];
  /** Number of lines that stood in the log before. */
  readonly repeated: number;
}

/** @throws {LogMismatch} at a malformed line, at the head of another model, and at two lines of one number. */
export async function loggedLines(texts: Texts, progress: (done: number, all: number) => void): Promise<LoggedLines> {
  const impressions: Assigned[] = [];
  const conversions = new Map<string, ConversionLine[]>();
  const configs: { readonly seq: number; readonly config: ModelConfig }[] = [];
  const lines = new Numbers();
  let head: HeadLine | undefined;
  let [end, all, done] = [0, 0, 0];
  for await (const line of linesOf(texts, { receipts: false })) {
    progress(done++, all);
    if (line.type === "model") {
      checkSame(head, line);
      head = line;
      [end, all] = [Math.max(end, line.exportedAt ?? 0), all + (line.lines ?? 0)];
    } else if (!lines.isNew(line)) continue;
    else if (line.type === "mark") {
      const config = line.mark === "configuration" ? line.content : line.mark === "relearnt" ? line.content.config : undefined;
      if (config && line.shard === undefined) configs.push({ seq: line.seq, config });
    } else if (line.type === "impression" && line.state === "live") impressions.push(line);
    else if (line.type === "conversion") conversions.set(line.impression, [...(conversions.get(line.impression) ?? []), line]);
  }
  const own = configs.toSorted((a, b) => a.seq - b.seq);
  const config = own.at(-1)?.config;
  if (!head || !config) throw new LogMismatch("expected a log with the model's configuration, got none");
  const decided = own.map(shareOf);
  return {
    ...{ model: head.model, end, config, configs: own.map((each) => each.config), decided, impressions, repeated: lines.repeated },
    conversionsOf: (impression) => conversions.get(impression) ?? [],
  };
}

const shareOf = ({ seq, config }: { readonly seq: number; readonly config: ModelConfig }): HoldoutShare => {
  return { since: seq, holdout: config.holdout ?? 0 };
};

function checkSame(before: HeadLine | undefined, { model, generation }: HeadLine): void {
  if (before === undefined || (before.model === model && before.generation === generation)) return;
  const [expected, got] =
    before.model === model
      ? [`generation ${before.generation}`, `generation ${generation}, which is later or earlier than a reset`]
      : [`model ${before.model}`, `model ${model}`];
  throw new LogMismatch(`expected the log of one model, ${expected}, got lines of ${got} too: compare each log by itself`);
}

/** The numbers of the lines so far. Each shard numbers its lines by itself. */
class Numbers {
  repeated = 0;
  readonly #seen = new Map<number, Map<number, string>>();

  /** @throws {LogMismatch} if another line had the number. */
  isNew(line: EventLine): boolean {
    const { shard = 0, seq } = line;
    const seen = this.#seen.get(shard) ?? new Map<number, string>();
    this.#seen.set(shard, seen);
    const name = line.type === "mark" ? line.mark : line.type === "conversion" ? line.impression : line.id;
    const before = seen.get(seq);
    if (before === undefined) seen.set(seq, name);
    else if (before === name) this.repeated++;
    else throw new LogMismatch(`expected one line of event ${seq}, got two that differ, of ${before} and ${name}: export the log again`);
    return before === undefined;
  }
}
