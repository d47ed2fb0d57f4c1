// A catalogue in a context, as lists of rows. `src/encoding/catalogue-columns.ts` writes its columns and the context.
//
// The vector of a candidate is a sum of terms and of products of terms, times a scale. Row j of a table is the component j of its draws, so
// the scores of a candidate are a weighted sum of rows. Sums that candidates share become rows of their own, behind those of the components:
// a value with all its products, the products of a number, and the context.

import { MALFORMED, OK, OUT_OF_RANGE } from "../abi";
import { addEntry, sumNumbers } from "./rows";

/** Stands for an entry where the vocabulary does not have the value. */
const NONE: u32 = 0xffffffff;
/** Number of buckets. The first 13 bits of a hash name its bucket, and the other 19 are dropped. */
const BUCKETS: usize = 8192;
const BUCKET: u32 = 19;

/** Counts, then for each column its distance in bytes from the catalogue. The columns follow in this order. */
@unmanaged export class CatalogueHeader {
  version: u32;
  fingerprint: u32;
  /** Candidates (k), and the most terms of one. */
  count: u32;
  mostTerms: u32;
  /** Values, and those of several candidates, which come first. */
  values: u32;
  shared: u32;
  /** Shared values and numbers of all candidates together, and distinct numbers. */
  sharedUses: u32;
  numberUses: u32;
  numbers: u32;
  /** Components (d), those of products of a visitor's number with an entry of the vocabulary, and the visitor's numbers. */
  dimension: u32;
  products: u32;
  visitors: u32;
  /** For each value: its hash, its component, and its entry in the vocabulary. */
  valueHashes: u32;
  valuePlaces: u32;
  valueEntries: u32;
  /** For each number: its hash, its component, and whether that is its own. */
  numberHashes: u32;
  numberPlaces: u32;
  numberExact: u32;
  /** For each candidate and behind the last one: the first of its shared values, of its own values, and of its numbers. */
  sharedStarts: u32;
  ownStarts: u32;
  numberStarts: u32;
  /** The shared values, one candidate after another. A candidate's own values follow each other. */
  sharedValues: u32;
  numberIndices: u32;
  numberShares: u32;
  /** For each candidate the sum of the squares of its values, and that of its factors. */
  valueSquares: u32;
  factorSquares: u32;
  /** The component of each bucket of hashes (u16). */
  buckets: u32;
}

@unmanaged export class Context {
  terms: u32;
  /** Whether the terms are multiplied with values and numbers. */
  isMultiplied: u32;
  /** Sums of squares: of the values and the constant, and of the factors in products. */
  values: f32;
  factors: f32;
}
const CONTEXT: usize = 16;

/** A term of a context. */
@unmanaged class Term {
  place: u32;
  value: f32;
  hash: u32;
  /** The weight of its products, and of those that have a component of their own. */
  weight: f32;
  ownWeight: f32;
  /** Index among the visitor's numbers, or -1. */
  number: i32;
}
const TERM: usize = 24;

const CONSTANT: f32 = 0.25;
const HALF_SQUARED: f32 = 0.25;

// @ts-ignore: decorator
@inline function word(catalogue: CatalogueHeader, column: u32, i: usize): usize {
  return <usize>load<u32>(changetype<usize>(catalogue) + column + (i << 2));
}

// @ts-ignore: decorator
@inline function float(catalogue: CatalogueHeader, column: u32, i: usize): f32 {
  return load<f32>(changetype<usize>(catalogue) + column + (i << 2));
}

// @ts-ignore: decorator
@inline function firstTerm(context: Context): usize {
  return changetype<usize>(context) + CONTEXT;
}

/** Column `index` of the header begins where the last one ends, after `count` words. Returns the end of this one, or 0 if it does not. */
function columnEnd(catalogue: CatalogueHeader, index: usize, start: u64, count: u64): u64 {
  const isThere = start != 0 && <u64>load<u32>(changetype<usize>(catalogue) + offsetof<CatalogueHeader>("valueHashes") + (index << 2)) == start;
  return isThere ? start + (count << 2) : 0;
}

/** Whether all of `count` words of a column are below `limit`. */
function areBelow(catalogue: CatalogueHeader, column: u32, count: usize, limit: u32): bool {
  for (let i: usize = 0; i < count; i++) if (<u32>word(catalogue, column, i) >= limit) return false;
  return true;
}

/** Whether all of `count` floats of a column are from 0 to `most`. */
function areWithin(catalogue: CatalogueHeader, column: u32, count: usize, most: f32): bool {
  for (let i: usize = 0; i < count; i++) {
    const each = float(catalogue, column, i);
    if (!(each >= 0 && each <= most)) return false;
  }
  return true;
}

/** Whether starts rise from `first` to `end`. */
function areStarts(catalogue: CatalogueHeader, column: u32, first: u32, end: u32): bool {
  const k: usize = catalogue.count;
  for (let i: usize = 0; i < k; i++) if (word(catalogue, column, i) > word(catalogue, column, i + 1)) return false;
  return word(catalogue, column, 0) == <usize>first && word(catalogue, column, k) == <usize>end;
}

/** Whether no candidate has an index twice. */
function areDistinct(catalogue: CatalogueHeader, starts: u32, indices: u32): bool {
  const k: usize = catalogue.count;
  for (let i: usize = 0; i < k; i++) {
    const end = word(catalogue, starts, i + 1);
    for (let at = word(catalogue, starts, i); at < end; at++) {
      for (let other = at + 1; other < end; other++) if (word(catalogue, indices, at) == word(catalogue, indices, other)) return false;
    }
  }
  return true;
}

/** Whether no candidate has more terms than `mostTerms`. */
function areFew(catalogue: CatalogueHeader): bool {
  const k: usize = catalogue.count;
  for (let i: usize = 0; i < k; i++) {
    const terms =
      word(catalogue, catalogue.sharedStarts, i + 1) -
      word(catalogue, catalogue.sharedStarts, i) +
      (word(catalogue, catalogue.ownStarts, i + 1) - word(catalogue, catalogue.ownStarts, i)) +
      (word(catalogue, catalogue.numberStarts, i + 1) - word(catalogue, catalogue.numberStarts, i));
    if (terms > <usize>catalogue.mostTerms) return false;
  }
  return true;
}

/**
 * Checks that the columns of a catalogue fit together, so that no list of rows leaves its table. `bytes`: their length, of at least the
 * counts. Returns OK or MALFORMED. **Cost:** once through the columns.
 */
export function catalogueCheck(catalogue: CatalogueHeader, bytes: usize): i32 {
  if (bytes < offsetof<CatalogueHeader>()) return MALFORMED;
  const values: u64 = catalogue.values;
  const numbers: u64 = catalogue.numbers;
  const starts = <u64>catalogue.count + 1;
  let end: u64 = offsetof<CatalogueHeader>();
  for (let i: usize = 0; i < 3; i++) end = columnEnd(catalogue, i, end, values);
  for (let i: usize = 3; i < 6; i++) end = columnEnd(catalogue, i, end, numbers);
  for (let i: usize = 6; i < 9; i++) end = columnEnd(catalogue, i, end, starts);
  end = columnEnd(catalogue, 9, end, catalogue.sharedUses);
  for (let i: usize = 10; i < 12; i++) end = columnEnd(catalogue, i, end, catalogue.numberUses);
  for (let i: usize = 12; i < 14; i++) end = columnEnd(catalogue, i, end, catalogue.count);
  end = columnEnd(catalogue, 14, end, BUCKETS / 2);
  if (end != <u64>bytes || values < <u64>catalogue.shared || catalogue.products > catalogue.dimension) return MALFORMED;
  let fits = areStarts(catalogue, catalogue.sharedStarts, 0, catalogue.sharedUses);
  fits = fits && areStarts(catalogue, catalogue.ownStarts, catalogue.shared, catalogue.values);
  fits = fits && areStarts(catalogue, catalogue.numberStarts, 0, catalogue.numberUses);
  fits = fits && areBelow(catalogue, catalogue.sharedValues, catalogue.sharedUses, catalogue.shared);
  fits = fits && areBelow(catalogue, catalogue.numberIndices, catalogue.numberUses, catalogue.numbers);
  fits = fits && areDistinct(catalogue, catalogue.sharedStarts, catalogue.sharedValues);
  fits = fits && areDistinct(catalogue, catalogue.numberStarts, catalogue.numberIndices);
  fits = fits && areBelow(catalogue, catalogue.valuePlaces, <usize>values, catalogue.dimension);
  fits = fits && areBelow(catalogue, catalogue.numberPlaces, <usize>numbers, catalogue.dimension);
  fits = fits && areWithin(catalogue, catalogue.numberShares, catalogue.numberUses, 1);
  fits = fits && areWithin(catalogue, catalogue.valueSquares, catalogue.count, <f32>catalogue.mostTerms);
  fits = fits && areWithin(catalogue, catalogue.factorSquares, catalogue.count, <f32>catalogue.mostTerms);
  fits = fits && areFew(catalogue);
  for (let i: usize = 0; i < BUCKETS; i++) {
    fits = fits && load<u16>(changetype<usize>(catalogue) + catalogue.buckets + (i << 1)) < <u16>catalogue.dimension;
  }
  return fits ? OK : MALFORMED;
}

/**
 * Whether the terms of a context of `bytes` bytes, and the candidates at k `picks` or for 0 the first k, are within the columns.
 * **Cost:** once through both.
 */
export function areInColumns(catalogue: CatalogueHeader, context: Context, bytes: usize, picks: usize, k: usize): bool {
  if (bytes < CONTEXT || <u64>context.terms * TERM != <u64>(bytes - CONTEXT)) return false;
  for (let at = firstTerm(context), end = changetype<usize>(context) + bytes; at < end; at += TERM) {
    if (changetype<Term>(at).place >= catalogue.dimension) return false;
  }
  if (!picks) return k <= <usize>catalogue.count;
  for (let c: usize = 0; c < k; c++) if (load<u32>(picks + (c << 2)) >= catalogue.count) return false;
  return true;
}

/** Rows of a table behind those of the components. */
export function tableRows(catalogue: CatalogueHeader): usize {
  return catalogue.shared + catalogue.numbers + 1;
}

/** Lists what makes row `index` of a table, from the rows of the components. Returns the end of the list. */
export function listTableRow(catalogue: CatalogueHeader, context: Context, index: usize, list: usize): usize {
  const shared: usize = catalogue.shared;
  if (index < shared) return listValue(catalogue, context, index, list);
  const number = index - shared;
  if (number < <usize>catalogue.numbers) {
    return listProducts(catalogue, context, <u32>word(catalogue, catalogue.numberHashes, number), NONE, list);
  }
  list = addEntry(list, 0, CONSTANT);
  const end = firstTerm(context) + <usize>context.terms * TERM;
  for (let at = firstTerm(context); at < end; at += TERM) {
    const term = changetype<Term>(at);
    list = addEntry(list, term.place, term.value);
  }
  return list;
}

/** Lists a value and its products. */
function listValue(catalogue: CatalogueHeader, context: Context, value: usize, list: usize): usize {
  list = addEntry(list, word(catalogue, catalogue.valuePlaces, value), 1);
  const hash = <u32>word(catalogue, catalogue.valueHashes, value);
  return listProducts(catalogue, context, hash, <u32>word(catalogue, catalogue.valueEntries, value), list);
}

/** Lists the products of all terms of the context with a value or a number, if they are multiplied. */
function listProducts(catalogue: CatalogueHeader, context: Context, hash: u32, entry: u32, list: usize): usize {
  if (!context.isMultiplied) return list;
  const room = catalogue.visitors > 0 ? catalogue.products / catalogue.visitors : 0;
  const end = firstTerm(context) + <usize>context.terms * TERM;
  for (let at = firstTerm(context); at < end; at += TERM) {
    const term = changetype<Term>(at);
    if (term.number >= 0 && entry != NONE && room > 0) {
      // Entries without room share the components of earlier ones.
      const row = entry < room ? entry : entry & ((1 << (31 - clz(room))) - 1);
      list = addEntry(list, catalogue.dimension - 1 - (row * catalogue.visitors + <u32>term.number), term.ownWeight);
      continue;
    }
    const bucket = <usize>(mixed(term.hash ^ hash) >> BUCKET);
    list = addEntry(list, load<u16>(changetype<usize>(catalogue) + catalogue.buckets + (bucket << 1)), term.weight);
  }
  return list;
}

/** The finaliser of MurmurHash3. */
function mixed(hash: u32): u32 {
  hash = (hash ^ (hash >> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
  return hash ^ (hash >> 16);
}

/** Lists the rows of a candidate, before its scale: the context, shared values, numbers, then its own values. Returns the end of the list. */
export function listCandidate(catalogue: CatalogueHeader, context: Context, i: usize, list: usize): usize {
  const table: usize = catalogue.dimension;
  const numbers = table + catalogue.shared;
  list = addEntry(list, numbers + catalogue.numbers, 1);
  for (let at = word(catalogue, catalogue.sharedStarts, i), end = word(catalogue, catalogue.sharedStarts, i + 1); at < end; at++) {
    list = addEntry(list, table + word(catalogue, catalogue.sharedValues, at), 1);
  }
  for (let at = word(catalogue, catalogue.numberStarts, i), end = word(catalogue, catalogue.numberStarts, i + 1); at < end; at++) {
    const number = word(catalogue, catalogue.numberIndices, at);
    const share = float(catalogue, catalogue.numberShares, at);
    const isExact = word(catalogue, catalogue.numberExact, number);
    list = addEntry(list, word(catalogue, catalogue.numberPlaces, number), isExact ? 2 * share - 1 : share);
    list = addEntry(list, numbers + number, share);
  }
  for (let value = word(catalogue, catalogue.ownStarts, i), end = word(catalogue, catalogue.ownStarts, i + 1); value < end; value++) {
    list = listValue(catalogue, context, value, list);
  }
  return list;
}

/** The scale of a candidate. */
export function scaleOf(catalogue: CatalogueHeader, context: Context, i: usize): f32 {
  const own = float(catalogue, catalogue.valueSquares, i);
  const square = context.values + own + HALF_SQUARED * context.factors * float(catalogue, catalogue.factorSquares, i);
  return square > 1 ? 1 / sqrt(square) : 1;
}

/**
 * Writes the products <x_c, parameter> of k candidates. `bytes`: of the context. `picks`: their indices in the catalogue, or 0 for the
 * first k. `table`: the parameter (d doubles), with room for the rows of the table behind it. `list`: room for the longest list. Returns
 * OK, or OUT_OF_RANGE for a context or picks beyond the columns.
 */
export function catalogueProducts(
  catalogue: CatalogueHeader,
  context: Context,
  bytes: usize,
  picks: usize,
  k: usize,
  table: usize,
  list: usize,
  out: usize,
): i32 {
  if (!areInColumns(catalogue, context, bytes, picks, k)) return OUT_OF_RANGE;
  const first = table + (<usize>catalogue.dimension << 3);
  for (let row: usize = 0, rows = tableRows(catalogue); row < rows; row++) {
    store<f64>(first + (row << 3), sumNumbers(list, listTableRow(catalogue, context, row, list), table));
  }
  for (let c: usize = 0; c < k; c++) {
    const i = picks ? <usize>load<u32>(picks + (c << 2)) : c;
    const sum = sumNumbers(list, listCandidate(catalogue, context, i, list), table);
    store<f64>(out + (c << 3), <f64>scaleOf(catalogue, context, i) * sum);
  }
  return OK;
}
