import { hash32 } from "./token.ts";

/** The shard, of so many, that knows everything of a join key or of a caller's own id. */
export function homeOf(text: string, shards: number): number {
  return shards === 1 ? 0 : hash32(text) % shards;
}
