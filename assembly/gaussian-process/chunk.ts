// Rows of V = L^-1 K(points, candidates) for watched candidates (see watched.ts), in chunks.

import { allocateDoubles, release } from "../memory";
import { LANES, PANEL_ROW } from "../matrix/panel";

/** Panels of a group, and its candidates. */
export const PANELS: usize = 4;
export const GROUP: usize = PANELS * LANES;
/** Bytes of a group's row. */
export const GROUP_ROW: usize = PANELS * PANEL_ROW;
/** Bytes before the rows of a chunk, so that vectors stay aligned. */
const HEADER: usize = 16;

/**
 * Rows [first, end) of all groups, group by group.
 *
 * New rows get a chunk of their own. A larger block instead of the old one would copy all rows into memory that the host has yet to
 * provide, which takes longer than solving for a row.
 */
@unmanaged export class Chunk {
  /** The chunk of the rows behind it, or 0. */
  next: usize;
  first: usize;
  end: usize;

  /** The address of a row of a group. */
  @inline row(group: usize, row: usize): usize {
    return changetype<usize>(this) + HEADER + (group * (this.end - this.first) + row - this.first) * GROUP_ROW;
  }
}

/** Creates a chunk, which the caller owns until `releaseChunks`. Returns 0 without memory. */
export function createChunk(groups: usize, first: usize, end: usize): usize {
  const pointer = allocateDoubles(<u64>groups * (end - first) * GROUP + (HEADER >> 3));
  if (!pointer) return 0;
  const chunk = changetype<Chunk>(pointer);
  chunk.next = 0;
  chunk.first = first;
  chunk.end = end;
  return pointer;
}

/** Releases a chunk and those behind it. */
export function releaseChunks(chunk: usize): void {
  while (chunk) {
    const next = changetype<Chunk>(chunk).next;
    release(chunk);
    chunk = next;
  }
}
