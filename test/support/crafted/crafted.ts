import type { Core } from "../../../src/core/core.ts";

// Snapshots with a correct checksum whose contents another program has changed.

const HEADER = 64;
const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** A snapshot taken apart. A section is a text of JSON, or numbers. */
export interface Contents {
  readonly head: Uint8Array;
  readonly dimension: number;
  readonly impressions: number;
  readonly sections: readonly (string | readonly number[])[];
  /** The count that the header of a section states instead of its own. */
  readonly stated?: { readonly section: number; readonly count: number };
}

export function contentsOf(bytes: Uint8Array): Contents {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const sections: (string | number[])[] = [];
  for (let at = HEADER; at < bytes.length; ) {
    const count = view.getFloat64(at, true);
    const text = new TextDecoder().decode(bytes.subarray(at + 8, at + 8 + count));
    const isText = sections.length === 0 || isList(text);
    sections.push(isText ? text : Array.from({ length: count }, (_, i) => view.getFloat64(at + 8 + 8 * i, true)));
    at += 8 + (isText ? padded(count) : 8 * count);
  }
  return { head: bytes.slice(0, HEADER), dimension: view.getUint32(36, true), impressions: view.getFloat64(40, true), sections };
}

/** The configuration of a snapshot that was restored. */
export function configOf(bytes: Uint8Array): { readonly window: object | "none"; readonly reward: { readonly min: number } } {
  return JSON.parse(contentsOf(bytes).sections[0] as string);
}

/** Only lists of texts are stored as JSON, besides the configuration. */
function isList(text: string): boolean {
  if (!text.startsWith("[")) return false;
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Puts a snapshot together, with its length and checksum. */
export function crafted(core: Core, { head, dimension, impressions, sections, stated }: Contents): Uint8Array {
  const payloads = sections.map((section) => {
    const own = typeof section === "string" ? new TextEncoder().encode(section) : new Uint8Array(Float64Array.from(section).buffer);
    return { count: typeof section === "string" ? own.length : section.length, own };
  });
  const bytes = new Uint8Array(payloads.reduce((sum, { own }) => sum + 8 + padded(own.length), HEADER));
  const view = new DataView(bytes.buffer);
  bytes.set(head);
  view.setUint32(36, dimension, true);
  view.setFloat64(40, impressions, true);
  view.setFloat64(48, bytes.length, true);
  let at = HEADER;
  for (const [i, { count, own }] of payloads.entries()) {
    view.setFloat64(at, stated?.section === i ? stated.count : count, true);
    bytes.set(own, at + 8);
    at += 8 + padded(own.length);
  }
  view.setBigUint64(56, BigInt(`0x${core.checksum(bytes.subarray(0, 56), bytes.subarray(HEADER))}`), true);
  return bytes;
}

/** Values at which a check is easily forgotten. A count could not grow beyond 2^52. */
const EXTREMES = [
  ...[1e300, -1e300, Number.MAX_VALUE, 1e9, -1e9, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 - 1, 2 ** 51, 2 ** 29, -1, -0, 0, 1, 2, 0.5, 1e-300],
  ...[Number.MIN_VALUE, -Number.MIN_VALUE, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 4096, 65_536, 1e6, 20_000],
];

/** Values of another type, for JSON. */
const OTHERS = [
  null,
  true,
  false,
  "",
  "x",
  "__proto__",
  [],
  {},
  { length: 1e9 },
  [[]],
  [[0, 1]],
  "none",
  { rounds: 1e300 },
  { ms: 5e-324 },
];

/** One or two random changes of a snapshot's contents. `random` returns numbers in [0, 1). */
export function changed(contents: Contents, random: () => number): Contents {
  let result = contents;
  for (let left = random() < 0.7 ? 1 : 2; left > 0; left--) result = changedOnce(result, random);
  return result;
}

type Change = (contents: Contents, random: () => number) => Contents;

const pick = <T>(values: readonly T[], random: () => number): T => values[Math.floor(random() * values.length)];

/** Each change is as frequent as it stands here. */
const CHANGES: readonly Change[] = [
  ...Array<Change>(8).fill((contents, random) => inNumbers(contents, random, replaced)),
  ...Array<Change>(2).fill((contents, random) => inNumbers(contents, random, resized)),
  ...Array<Change>(6).fill((contents, random) => inText(contents, random, 0)),
  (contents, random) => inText(contents, random),
  (contents, random) => ({ ...contents, impressions: pick(EXTREMES, random) }),
  (contents, random) => ({ ...contents, dimension: pick([0, 1, 3, 5, 4096, 2 ** 32 - 1], random) }),
  (contents, random) => {
    const count = pick([...EXTREMES, 2 ** 28, 2 ** 32 + 8], random);
    return { ...contents, stated: { section: Math.floor(random() * contents.sections.length), count } };
  },
  (contents, random) => {
    const section = Math.floor(random() * contents.sections.length);
    return { ...contents, sections: contents.sections.toSpliced(section, pick([0, 1], random), pick(contents.sections, random)) };
  },
];

const changedOnce: Change = (contents, random) => pick(CHANGES, random)(contents, random);

/** Changes the numbers of one section. Short sections, which hold counts, are as frequent as long ones. */
function inNumbers(
  contents: Contents,
  random: () => number,
  change: (numbers: readonly number[], random: () => number) => number[],
): Contents {
  const places = contents.sections.flatMap((section, i) => (typeof section !== "string" && section.length > 0 ? [i] : []));
  if (places.length === 0) return contents;
  const at = pick(places, random);
  return { ...contents, sections: contents.sections.with(at, change(contents.sections[at] as readonly number[], random)) };
}

function replaced(numbers: readonly number[], random: () => number): number[] {
  const value = pick(EXTREMES, random);
  if (random() < 0.1) return numbers.map(() => value);
  return numbers.with(Math.floor(random() * numbers.length), value);
}

/** A word, or all words, inserted again, or words taken away. */
function resized(numbers: readonly number[], random: () => number): number[] {
  const at = Math.floor(random() * numbers.length);
  const choice = Math.floor(random() * 4);
  if (choice === 0) return numbers.slice(0, at);
  if (choice === 1) return numbers.toSpliced(at, 1);
  if (choice === 2) return numbers.toSpliced(at, 0, numbers[at]);
  return [...numbers, ...numbers];
}

function inText(contents: Contents, random: () => number, given?: number): Contents {
  const places = contents.sections.flatMap((section, i) => (typeof section === "string" ? [i] : []));
  const at = given ?? pick(places, random);
  const text = contents.sections[at];
  if (typeof text !== "string") return contents;
  try {
    const value = inValue(JSON.parse(text), random);
    return { ...contents, sections: contents.sections.with(at, JSON.stringify(value) ?? "") };
  } catch {
    return contents;
  }
}

/** JSON with one value changed, at any depth. */
function inValue(value: unknown, random: () => number): unknown {
  const fields = value !== null && typeof value === "object" ? { ...value } : {};
  const keys = Object.keys(fields);
  if (keys.length === 0 || random() < 0.1) return pick<unknown>([...EXTREMES, ...OTHERS], random);
  const key = pick(keys, random);
  if (!Array.isArray(value)) return { ...fields, [key]: inValue((fields as Record<string, unknown>)[key], random) };
  if (random() < 0.2) return [...value, ...value];
  return value.with(Number(key), inValue(value[Number(key)], random));
}
