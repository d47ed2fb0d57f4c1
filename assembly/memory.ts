// Dynamic memory: one list of free blocks in the order of their addresses, first fit, neighbours merged on release.
//
// AssemblyScript's own allocators trap when memory cannot grow, or never free; this one answers 0 and frees.
// A recommender owns tens of blocks, so walking a list costs nothing. Blocks come from `memory.grow` alone, never from
// the pages the module starts with: whoever else grows memory (the tests' runtime does) is not disturbed.
// Source: Knuth, The Art of Computer Programming 1, section 2.5, algorithms A and B.

/** Stands before every block, free or not; keeps payloads aligned to 16 bytes, so that no vector straddles a cache line. */
@unmanaged class Block {
  /** Bytes, this header included. */
  size: u32;
  /** The free block that follows in memory, or null. Meaningless while the block is in use. */
  next: Block | null;
}

const HEADER: u32 = 16;
const PAGE_BITS: u32 = 16;
const PAGE_MASK: u64 = (1 << PAGE_BITS) - 1;

let firstFree: Block | null = null;

// @ts-ignore: decorator
@inline function address(block: Block | null): usize {
  return changetype<usize>(block);
}

/** Returns a pointer to `bytes` bytes, aligned to 16 and not cleared, or 0. The caller owns it until `release`. */
export function allocate(bytes: usize): usize {
  return reserve(bytes);
}

/** Like `allocate`, for `count` doubles. 64 bits, so that the size of a large triangle cannot wrap round. */
export function allocateDoubles(count: u64): usize {
  return count > u32.MAX_VALUE ? 0 : reserve(count << 3);
}

function reserve(bytes: u64): usize {
  if (bytes > <u64>u32.MAX_VALUE - 2 * HEADER) return 0;
  const size = (<u32>bytes + 2 * HEADER - 1) & ~(HEADER - 1);
  const pointer = take(size);
  return pointer || !grow(size) ? pointer : take(size);
}

/** Gives a block back. `pointer` is 0, which does nothing, or came from an allocation and was not released yet. */
export function release(pointer: usize): void {
  if (pointer) insert(changetype<Block>(pointer - HEADER));
}

/** Cuts `size` bytes from the first free block that has them: from its end, so that the list stays as it is. */
function take(size: u32): usize {
  let previous: Block | null = null;
  let block = firstFree;
  while (block && block.size < size) {
    previous = block;
    block = block.next;
  }
  if (!block) return 0;
  const rest = block.size - size;
  if (rest > HEADER) {
    block.size = rest;
    block = changetype<Block>(address(block) + rest);
    block.size = size;
  } else if (previous) {
    previous.next = block.next;
  } else {
    firstFree = block.next;
  }
  return address(block) + HEADER;
}

/** Puts a block into the list, in one piece with the free neighbours it touches. */
function insert(block: Block): void {
  let previous: Block | null = null;
  let next = firstFree;
  while (next && address(next) < address(block)) {
    previous = next;
    next = next.next;
  }
  if (next && address(block) + block.size == address(next)) {
    block.size += next.size;
    next = next.next;
  }
  block.next = next;
  if (previous && address(previous) + previous.size == address(block)) {
    previous.size += block.size;
    previous.next = next;
  } else if (previous) {
    previous.next = block;
  } else {
    firstFree = block;
  }
}

/** Asks for half as much again as there is, so that growing costs little in all; failing that, for what is needed. */
function grow(size: u32): bool {
  const needed = <i32>((<u64>size + PAGE_MASK) >> PAGE_BITS);
  const start = memory.size();
  let pages = max(needed, start >> 1);
  if (memory.grow(pages) < 0) {
    pages = needed;
    if (memory.grow(pages) < 0) return false;
  }
  const block = changetype<Block>(<usize>start << PAGE_BITS);
  block.size = <u32>pages << PAGE_BITS;
  insert(block);
  return true;
}
