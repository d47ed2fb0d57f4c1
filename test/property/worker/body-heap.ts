import { GCProfiler } from "node:v8";
import { KeyHasher } from "../../../worker/domain/ids/key-hasher.ts";
import { TokenSigner } from "../../../worker/domain/ids/token.ts";
import { pastLines } from "../../../worker/edge/routes/models/events.ts";
import { operations } from "../../../worker/openapi/operations.ts";
import type { Operation } from "../../../worker/protocol/operation.ts";
import { Problem } from "../../../worker/protocol/problem.ts";
import { parsed } from "../../../worker/protocol/validation.ts";

// Reads hostile bodies as the worker does, and prints the heap that the worst took. Runs with `--expose-gc`, in a small heap.
// Arguments: n and i. Of every n bodies, body i is read.

const BODY_BYTES = 1024 * 1024;
const LOG_BYTES = 4 * BODY_BYTES;
const hashed = (keys: readonly string[]) => KeyHasher.create("a-key-that-hashes-keys").hashAll("shop", keys, false);
const story = { now: 1_795_262_400_000, impressionId: "an-impression", publishableKey: "pk", version: 1 };

const series = (item: (i: number) => string, bytes: number): string => {
  const items: string[] = [];
  for (let i = 0, length = 0; length < bytes - 64; i++) {
    items.push(item(i));
    length += items[i].length + 1;
  }
  return items.join(",");
};
const listOf = (item: string) => (bytes: number) => `[${`${item},`.repeat(Math.max(0, Math.floor(bytes / (item.length + 1)) - 1))}${item}]`;
const objectOf = (value: string, name: (i: number) => string) => (bytes: number) => `{${series((i) => `"${name(i)}":${value}`, bytes)}}`;
const short = (i: number): string => i.toString(36);

/** JSON of about so many bytes. */
const fillers: Readonly<Record<string, (bytes: number) => string>> = {
  "a list of zeros": listOf("0"),
  "a list of nulls": listOf("null"),
  "a list of empty objects": listOf("{}"),
  "a list of empty lists": listOf("[]"),
  "a list of empty texts": listOf('""'),
  "a list of lists of one": listOf("[0]"),
  "a list of nested objects": listOf('{"a":{}}'),
  "a list of other objects": (bytes) => `[${series((i) => `{"${short(i)}":0}`, bytes)}]`,
  "a deep list": (bytes) => "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
  "a deep object": (bytes) => `${'{"a":'.repeat(bytes / 6)}1${"}".repeat(bytes / 6)}`,
  "a long text": (bytes) => `"${"x".repeat(bytes - 2)}"`,
  "an object of many names": objectOf("0", short),
  "an object of many lists": objectOf("[]", short),
  "an object of long lists": objectOf(JSON.stringify(Array(64).fill("")), short),
  "an object of many numbers": objectOf("0", (i) => String(i * 7919)),
};

/** Features within all limits that take much more memory than text. */
const rich = Object.fromEntries(Array.from({ length: 256 }, (_, i) => [short(i), []]));

const HOLE = "a hole";
const isObject = (value: unknown) => value !== null && typeof value === "object";

/** The value with a hole, or with null, at each of its places. */
function* holed(value: unknown, hole: unknown): Generator<unknown> {
  yield hole;
  if (!isObject(value)) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) for (const other of holed(item, hole)) yield value.with(i, other);
    return;
  }
  for (const [key, item] of Object.entries(value as object)) {
    for (const other of holed(item, hole)) yield { ...(value as object), [key]: other };
  }
}

/** The value with one of its lists as long as possible, of items with something wrong in them. */
function* lengthened(value: unknown): Generator<readonly [body: unknown, item: string]> {
  if (!isObject(value)) return;
  if (Array.isArray(value)) for (const item of [value[0], ...holed(value[0], null)]) yield [HOLE, JSON.stringify(item ?? null)];
  for (const [key, item] of Object.entries(value as object)) {
    const put = (body: unknown) => (Array.isArray(value) ? value.with(Number(key), body) : { ...(value as object), [key]: body });
    for (const [body, filler] of lengthened(item)) yield [put(body), filler];
  }
}

type Body = readonly [name: string, make: () => string, read: (text: string) => unknown];

function filled(body: unknown, filler: (bytes: number) => string, most: number): string {
  const text = JSON.stringify(body);
  return text.replace(JSON.stringify(HOLE), () => filler(most - text.length));
}

const examplesOf = ({ examples, lines }: Operation): unknown[] => {
  const values = Object.values(examples?.(story) ?? {});
  return lines ? values.flatMap((text) => (text as string).split("\n").map((line) => JSON.parse(line))) : values;
};

function* bodies(): Generator<Body> {
  const registering = {
    model: "shop",
    byPage: false,
    signer: TokenSigner.create("a-key-that-signs-tokens"),
    isCrawler: () => false,
    hashed,
  };
  for (const operation of Object.values(operations)) {
    const { lines } = operation;
    const [[body, schema] = []] = Object.entries(operation.body ?? {});
    if (!schema) continue;
    const most = lines ? LOG_BYTES : BODY_BYTES;
    const read = (text: string) => (lines ? pastLines(text, registering) : parsed(schema, JSON.parse(text)));
    for (const example of examplesOf(operation)) {
      for (const [i, value] of Array.from(holed(example, HOLE)).entries()) {
        for (const [name, filler] of Object.entries(fillers)) yield [`${body} ${i}: ${name}`, () => filled(value, filler, most), read];
      }
      for (const [value, item] of lengthened(example)) yield [`${body}: items ${item}`, () => filled(value, listOf(item), most), read];
      if (lines) {
        const line = (value: unknown) => `${JSON.stringify(value)}\n`;
        const many = (value: unknown) => line(value).repeat(Math.min(20_000, LOG_BYTES / line(value).length));
        for (const value of holed(example, rich)) yield [`${body}: lines ${line(value)}`, () => `${many(value)}${line(value)}`, read];
      }
    }
  }
}

/** Bytes of heap that reading takes at its peak, with its garbage. */
async function heapOf(text: string, read: (text: string) => unknown): Promise<number> {
  const profiler = new GCProfiler();
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  profiler.start();
  try {
    await read(text);
  } catch (error) {
    if (!(error instanceof Problem || error instanceof SyntaxError)) throw error;
  }
  const after = process.memoryUsage().heapUsed;
  const peaks = profiler.stop().statistics.map(({ beforeGC }) => beforeGC.heapStatistics.usedHeapSize);
  return Math.max(after, ...peaks) - before;
}

const [every, first] = process.argv.slice(2).map(Number);
const worst = { tried: 0, bytes: 0, name: "" };
for (const [i, [name, make, read]] of Array.from(bodies()).entries()) {
  if (i % every !== first) continue;
  worst.tried++;
  const bytes = await heapOf(make(), read);
  if (bytes > worst.bytes) Object.assign(worst, { bytes, name });
}
console.log(JSON.stringify(worst));
