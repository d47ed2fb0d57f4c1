// Dynamic memory: one list of free blocks in order of address, first fit. A released block is merged with its free neighbours.
//
// The allocators of AssemblyScript trap when memory cannot grow, or never free. This one returns 0, and frees. A recommender owns
// tens of blocks, so walking the list costs next to nothing. Blocks come from `memory.grow` alone, never from the initial pages, so
// other code that grows memory (the runtime of the tests) is not disturbed.
// Source: Knuth, The Art of Computer Programming 1, section 2.5, algorithms A and B.

/** The header of every block, free or not. It keeps payloads aligned to 16 bytes, so that no vector straddles a cache line. */
@unmanaged class Block {
  /** Bytes, including this header. */
  size: u32;
  /** The next free block in memory, or null. Undefined while the block is in use. */
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

/** Returns a pointer to `bytes` bytes, aligned to 16 and not cleared, or 0 without memory. The caller owns it until `release`. */
export function allocate(bytes: usize): usize {
  return reserve(bytes);
}

/** `allocate` for `count` doubles. `count` has 64 bits, so that the size of a large triangle cannot wrap. */
export function allocateDoubles(count: u64): usize {
  return count > u32.MAX_VALUE ? 0 : reserve(count << 3);
}

function reserve(bytes: u64): usize {
  if (bytes > <u64>u32.MAX_VALUE - 2 * HEADER) return 0;
  const size = (<u32>bytes + 2 * HEADER - 1) & ~(HEADER - 1);
  const pointer = take(size);
  return pointer || !grow(size) ? pointer : take(size);
}

/** Releases a block. `pointer`: from an allocation and not yet released, or 0, which does nothing. */
export function release(pointer: usize): void {
  if (pointer) insert(changetype<Block>(pointer - HEADER));
}

/** Takes `size` bytes from the end of the first free block that has them, so that the list stays as it is. */
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

/** Adds a block to the list, and merges it with adjacent free blocks. */
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

/** Grows the memory by half its size, so that the total cost of growth is small. If that fails, by the needed size alone. */
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
