import { OUT_OF_RANGE } from "../abi";
import { areInColumns, CatalogueHeader, catalogueProducts, Context } from "../ridge/catalogue";
import { zeros } from "./vectors";

const COUNT = 5;
const D = 8;
/** Bytes of a context of two terms. */
const BYTES = 16 + 2 * 24;

/** The counts of a catalogue of 5 actions and 8 components. */
function header(): CatalogueHeader {
  const catalogue = changetype<CatalogueHeader>(zeros(14));
  catalogue.count = COUNT;
  catalogue.dimension = D;
  return catalogue;
}

/** A context of two terms with these components. */
function contextOf(first: u32, second: u32): Context {
  const context = zeros(8);
  store<u32>(context, 2);
  store<u32>(context + 16, first);
  store<u32>(context + 16 + 24, second);
  return changetype<Context>(context);
}

function picksOf(first: u32, second: u32): usize {
  const picks = zeros(1);
  store<u32>(picks, first);
  store<u32>(picks, second, 4);
  return picks;
}

describe("a list is within its columns", () => {
  test("with terms that are components, and actions of the catalogue", () => {
    expect(areInColumns(header(), contextOf(0, D - 1), BYTES, 0, COUNT)).toBe(true);
    expect(areInColumns(header(), contextOf(0, D - 1), BYTES, picksOf(COUNT - 1, 0), 2)).toBe(true);
  });

  test("not with more actions, or with a pick behind the last action", () => {
    expect(areInColumns(header(), contextOf(0, 0), BYTES, 0, COUNT + 1)).toBe(false);
    expect(areInColumns(header(), contextOf(0, 0), BYTES, picksOf(0, COUNT), 2)).toBe(false);
    expect(areInColumns(header(), contextOf(0, 0), BYTES, picksOf(u32.MAX_VALUE, 0), 2)).toBe(false);
  });

  test("not with a term behind the last component", () => {
    expect(areInColumns(header(), contextOf(D, 0), BYTES, 0, 1)).toBe(false);
    expect(areInColumns(header(), contextOf(0, u32.MAX_VALUE), BYTES, 0, 1)).toBe(false);
  });

  test("not with a context of another length than its terms", () => {
    for (let bytes = 0; bytes <= BYTES + 24; bytes++) {
      expect(areInColumns(header(), contextOf(0, 0), bytes, 0, 1)).toBe(bytes == BYTES);
    }
    const context = contextOf(0, 0);
    // 24 times this number is 48 modulo 2^32.
    context.terms = 2 + (1 << 29);
    expect(areInColumns(header(), context, BYTES, 0, 1)).toBe(false);
  });
});

test("products of a list beyond its columns have a status, and write nothing", () => {
  const out = zeros(2);
  store<f64>(out, 7);
  expect<i32>(catalogueProducts(header(), contextOf(0, 0), BYTES, picksOf(COUNT, 0), 2, zeros(D + 1), zeros(8), out)).toBe(OUT_OF_RANGE);
  expect(load<f64>(out)).toBe(7);
});
