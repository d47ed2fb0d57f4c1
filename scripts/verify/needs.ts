import type { ModelConfig } from "../../worker/domain/model.ts";
import type { EventLine, HeadLine } from "./event-log.ts";

/** Facts about a log that a replay needs in advance. */
export interface Needs {
  readonly lines: number;
  /** Versions whose state a later event needs, each with the last such event. */
  readonly versions: ReadonlyMap<number, number>;
  /** Versions of catalogues by which decisions of other versions were made, each with the last such event. */
  readonly catalogues: ReadonlyMap<number, number>;
  readonly rollbacks: readonly { readonly to: number; readonly at: number }[];
  /** Where the model last learnt its log again, and under which configuration. */
  readonly relearnt?: { readonly at: number; readonly config: ModelConfig };
}

/** Collects the needs. Isolates decide with older versions, and deferred impressions are learnt long after their decision. */
export async function needsOf(lines: AsyncIterable<HeadLine | EventLine>): Promise<Needs> {
  const versions = new Map<number, number>();
  const catalogues = new Map<number, number>();
  const rollbacks: { to: number; at: number }[] = [];
  let relearnt: Needs["relearnt"];
  let count = 0;
  let before = 0;
  for await (const line of lines) {
    if (line.type === "model") continue;
    count++;
    if (line.type === "impression" && line.version < before && line.version >= (relearnt?.at ?? 0)) versions.set(line.version, line.seq);
    if (line.type === "impression" && line.decision?.catalogue !== undefined) catalogues.set(line.decision.catalogue, line.seq);
    if (line.type === "mark" && line.mark === "relearnt") {
      relearnt = { at: line.seq, config: line.content.config };
      versions.clear();
    }
    if (line.type === "mark" && line.mark === "rollback") {
      versions.set(line.content.to, line.seq);
      rollbacks.push({ to: line.content.to, at: line.seq });
    }
    before = line.seq;
  }
  const undone = rollbacks.filter(({ at }) => at > (relearnt?.at ?? 0));
  return { lines: count, versions, catalogues, rollbacks: undone, ...(relearnt && { relearnt }) };
}
