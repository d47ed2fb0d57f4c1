/** Every decimal number of so many digits has a double of its own. */
const EXACT_DIGITS = 15;

/** TypeScript does not know the source of a value yet. */
const parse = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { readonly source: string }) => unknown,
) => unknown;

/**
 * Parses JSON in which numbers may be ids. A number that a double does not tell from its neighbours becomes its text.
 * @throws {SyntaxError}
 */
export function exactJson(text: string): unknown {
  return parse(text, (_, value, { source }) => (typeof value === "number" && !isExact(value, source) ? source : value));
}

function isExact(value: number, source: string): boolean {
  if (/^-?\d+$/.test(source)) return Number.isSafeInteger(value);
  const [mantissa] = source.split(/e/i);
  return Number.isFinite(value) && mantissa.replace(/\D/g, "").replace(/^0+/, "").length <= EXACT_DIGITS;
}
