import { Problem } from "../../protocol/problem.ts";
import type { LogHead, LogPart, LogSpan } from "../../rpc/message.ts";
import type { LearnerStore } from "../store/learner-store.ts";

/** @throws {Problem} 422 if an export cannot start after a row, because several shards have rows on both sides of it. */
export function checkStart({ model, shards }: LearnerStore, after: number): void {
  if (!model.coordinates || after === 0 || shards.markOf(after)) return;
  throw new Problem(
    422,
    `after: expected 0 or a version of the merged sums of all shards, such as the modelVersion of an earlier export, got ${after}`,
  );
}

/** The rows of each shard in an export of the coordinator's rows after a row, up to a version. */
export function spansOf({ model, shards }: LearnerStore, after: number, version: number): LogSpan[] {
  const [from, to] = [after, version].map((each) => shards.includedUntil(each));
  const span = (shard: number) => ({ after: from.get(shard) ?? 0, upTo: to.get(shard) ?? 0 });
  return Array.from({ length: model.config.shards }, (_, shard) => (shard === 0 ? { after, upTo: version } : span(shard)));
}

/** A shard's part of the head of an export. */
export function partOf({ log, archive, model: { shard, horizon } }: LearnerStore, { after, upTo }: LogSpan): LogPart {
  const files = after === 0 ? archive.files(horizon) : [];
  return { lines: log.count(after, upTo), horizon, archive: files.map((file) => (shard > 0 ? { ...file, shard } : file)) };
}

/** The head of an export, by the coordinator's rows in it and the parts of all shards. */
export function headOf(
  { model: { name: model, generation, config } }: LearnerStore,
  { after, upTo: modelVersion }: LogSpan,
  parts: readonly LogPart[],
): Omit<LogHead, "exportedAt" | "digest"> {
  const archive = parts.flatMap(({ archive }) => archive);
  return {
    ...{ model, generation, horizon: Math.max(...parts.map(({ horizon }) => horizon)), modelVersion, config },
    // Heads of one shard are as they were before there were several.
    ...(config.shards > 1 && { shards: config.shards }),
    after,
    lines: parts.reduce((sum, { lines }) => sum + lines, 0),
    ...(archive.length > 0 && { archive }),
  };
}
