// FNV-1a over the UTF-8 of a name. The finaliser of MurmurHash3 makes every bit depend on every byte.

export const FNV_OFFSET = 0x811c9dc5;
/** Tells the first hash of a product from the second: 2^32 divided by the golden ratio. */
const FIRST = 0x9e3779b9;

function step(state: number, byte: number): number {
  return Math.imul(state ^ byte, 0x01000193);
}

/** Hashes the UTF-8 of a text without an array of bytes. A lone surrogate counts as U+FFFD, as in `TextEncoder`. */
export function hashText(state: number, text: string): number {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) state = step(state, unit);
    else if (unit < 0x800) state = step(step(state, 0xc0 | (unit >> 6)), 0x80 | (unit & 0x3f));
    else {
      const point = text.codePointAt(i) as number;
      if (point > 0xffff) i++;
      state = hashWide(state, point >> 11 === 0x1b ? 0xfffd : point);
    }
  }
  return state;
}

/** Hashes a code point of three or four bytes. */
function hashWide(state: number, point: number): number {
  if (point > 0xffff) state = step(step(state, 0xf0 | (point >> 18)), 0x80 | ((point >> 12) & 0x3f));
  else state = step(state, 0xe0 | (point >> 12));
  return step(step(state, 0x80 | ((point >> 6) & 0x3f)), 0x80 | (point & 0x3f));
}

/** The hash of a finished text. */
export function mixed(state: number): number {
  let hash = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The hash of a term as the first one of products. */
export function leadingHash(hash: number): number {
  return Math.imul(hash, FIRST) >>> 0;
}

/** The hash of a product, from the hashes of its terms. */
export function productHash(first: number, second: number): number {
  return mixed(leadingHash(first) ^ second);
}
