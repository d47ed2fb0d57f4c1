import type { ShardNeeds } from "../log/needs.ts";

/** The rollbacks of a shard, which an earlier reading has found. */
export class Rollbacks {
  readonly #all: ShardNeeds["rollbacks"];

  constructor(all: ShardNeeds["rollbacks"]) {
    this.#all = all;
  }

  /** Whether one has undone an event. A row of the archive does not show rollbacks after its version. */
  undid(seq: number, archivedAt = Number.POSITIVE_INFINITY): boolean {
    return this.#all.some(({ to, at }) => to < seq && seq < at && at <= archivedAt);
  }

  /** Whether one comes after an event. */
  follow(seq: number): boolean {
    return this.#all.some(({ at }) => at > seq);
  }
}
