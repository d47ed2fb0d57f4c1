// A first pass over a log for what a replay needs in advance, so that the second pass can forget lines as it goes.

import { isElsewhere } from "../../worker/domain/impression/impression.ts";
import type { ImpressionLine } from "../../worker/domain/log/log-line.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import { AwaitedConversions } from "./awaited.ts";
import { Column } from "./column.ts";
import type { EventLine, HeadLine } from "./event-line.ts";

/** Facts about the lines of a shard that a replay needs in advance. */
export interface ShardNeeds {
  /** Versions of the shard whose sums a later event needs, each with the place of the last such line. */
  readonly versions: ReadonlyMap<number, number>;
  readonly rollbacks: readonly { readonly to: number; readonly at: number }[];
}

/** Facts about a log that a replay needs in advance. Places of lines count from 1. */
export interface Needs {
  readonly lines: number;
  /** Versions of the model by which later events were decided, each with the place of the last such line. */
  readonly versions: ReadonlyMap<number, number>;
  /** Versions of catalogues by which decisions of other versions were made, each with the place of the last such line. */
  readonly catalogues: ReadonlyMap<number, number>;
  readonly shards: ReadonlyMap<number, ShardNeeds>;
  /** Numbers of places to decide for a list, by the place of the first line of those that follow each other. 0: up to that line's own. */
  readonly lengths: Column;
  /** The conversions of each impression, none of which has come. */
  readonly awaited: AwaitedConversions;
  /** Where each shard last took over what it had learnt again, and under which configuration. */
  readonly relearnt?: { readonly at: ReadonlyMap<number, number>; readonly config: ModelConfig };
}

const PROGRESS_EVERY = 256;

/** A shard without lines so far. */
export const NO_NEEDS: ShardNeeds = { versions: new Map(), rollbacks: [] };

/** The needs of a shard, as they are found. */
class Finding implements ShardNeeds {
  readonly versions = new Map<number, number>();
  readonly rollbacks: { readonly to: number; readonly at: number }[] = [];
  /** Number of the last event. */
  last = 0;
}

/** All that a decision depends on, except the length of its list. */
export function questionOf({ id, version, context, decision }: ImpressionLine): string {
  return JSON.stringify([decision?.first ?? id, version, context, decision?.asked, decision?.catalogue]);
}

/** Collects the needs. Isolates decide with older versions, and deferred impressions are learnt long after their decision. */
export async function needsOf(lines: AsyncIterable<HeadLine | EventLine>, progress?: (done: number) => void): Promise<Needs> {
  const versions = new Map<number, number>();
  const catalogues = new Map<number, number>();
  const shards = new Map<number, Finding>();
  const awaited = new AwaitedConversions();
  const shardOf = (shard: number) => {
    const found = shards.get(shard) ?? new Finding();
    shards.set(shard, found);
    return found;
  };
  let relearnt: { readonly at: Map<number, number>; readonly config: ModelConfig } | undefined;
  let place = 0;
  const lengths = new Column(Uint16Array);
  let list: { readonly question: string; readonly place: number; length: number } | undefined;
  const decided = (line: ImpressionLine) => {
    const { version, decision } = line;
    if (decision === null || isElsewhere(decision)) return;
    const question = questionOf(line);
    if (list?.question === question) {
      list.length = Math.max(list.length, decision.place + 1);
      lengths.set(list.place, list.length);
      return;
    }
    list = { question, place, length: decision.place + 1 };
    if (version < shardOf(0).last && version >= (relearnt?.at.get(0) ?? 0)) versions.set(version, place);
    if (decision.catalogue !== undefined) catalogues.set(decision.catalogue, place);
  };
  for await (const line of lines) {
    if (line.type === "model") continue;
    place++;
    if (place % PROGRESS_EVERY === 0) progress?.(place);
    if (line.type === "impression") decided(line);
    if (line.type === "conversion") awaited.count(line.impression);
    if (line.type === "mark") list = undefined;
    if (line.type === "mark" && line.mark === "relearnt") {
      const { seq, shard = 0, content } = line;
      if (shard === 0) {
        relearnt = { at: new Map(), config: content.config };
        versions.clear();
      }
      relearnt?.at.set(shard, seq);
      shards.set(shard, new Finding());
    }
    const own = shardOf(line.shard ?? 0);
    own.last = line.seq;
    if (line.type === "mark" && line.mark === "rollback") {
      own.versions.set(line.content.to, place);
      own.rollbacks.push({ to: line.content.to, at: line.seq });
    }
    if (line.type === "mark" && line.mark === "merged") {
      for (const [shard, version] of line.content.shards.entries()) {
        if (version < shardOf(shard).last) shardOf(shard).versions.set(version, place);
      }
    }
  }
  return { lines: place, versions, catalogues, shards, lengths, awaited, ...(relearnt && { relearnt }) };
}
