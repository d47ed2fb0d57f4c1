import type { EventLine, HeadLine } from "./event-log.ts";

/** What has to be known of a log before it can be gone through. */
export interface Needs {
  readonly lines: number;
  /** Versions whose state is needed later, each with the last event that needs it. */
  readonly versions: ReadonlyMap<number, number>;
  readonly rollbacks: readonly { readonly to: number; readonly at: number }[];
}

/** An isolate at the edge decides by a version that has passed, and what was deferred is learnt long after it was decided. */
export async function needsOf(lines: AsyncIterable<HeadLine | EventLine>): Promise<Needs> {
  const versions = new Map<number, number>();
  const rollbacks: { to: number; at: number }[] = [];
  let count = 0;
  let before = 0;
  for await (const line of lines) {
    if (line.type === "model") continue;
    count++;
    if (line.type === "impression" && line.version < before) versions.set(line.version, line.seq);
    if (line.type === "mark" && line.mark === "rollback") {
      versions.set(line.content.to, line.seq);
      rollbacks.push({ to: line.content.to, at: line.seq });
    }
    before = line.seq;
  }
  return { lines: count, versions, rollbacks };
}
