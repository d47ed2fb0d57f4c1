import fc from "fast-check";
import { expect, it } from "vitest";
import { ArchiveError, ArchiveFile, type EncodedFile, encodeFile, LIMITS } from "../../../worker/domain/archive/archive-file.ts";
import { type EventLine, impressionOf } from "../../../worker/domain/log/log-line.ts";

const HEAD = { model: "shop", generation: 1, from: 0, until: 2 ** 42, whole: 1, version: 1 };

const id = (n: number): string => `01ec4aea-caaf-7519-b02b-${n.toString(16).padStart(12, "0")}`;
const number = fc.double({ noNaN: true });
/** JSON has no -0, at any depth. */
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter((value) => value !== null)
  .map((value) => JSON.parse(JSON.stringify(value)));
const text = fc.string({ unit: "grapheme" });
const shownAt = 0x01ec4aeacaaf;

const impression = fc
  .record({
    state: fc.constantFrom("live", "void", "deferred"),
    arm: fc.constantFrom("policy", "holdout", "default"),
    action: text,
    round: fc.option(fc.nat()),
    version: fc.nat(),
    reward: fc.option(number),
    context: fc.option(fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.string()))),
    decision: fc.option(
      fc
        .tuple(
          fc.record({ score: number, mean: number, width: number }),
          fc.option(number),
          fc.record({ place: fc.nat(30), candidates: fc.option(fc.nat()) }),
          fc.option(text),
        )
        .map(([scores, probability, rest, first]) => ({
          ...scores,
          ...(probability !== null && { probability }),
          ...rest,
          ...(first !== null && { first }),
        })),
    ),
    converted: fc.boolean(),
    features: fc.array(number, { maxLength: 5 }),
    hashes: fc.array(fc.string(), { maxLength: 3 }),
  })
  .map((fields) => ({ type: "impression", ...fields, shownAt }));
const conversion = fc
  .tuple(
    fc.record({
      goal: fc.string({ minLength: 1 }),
      event: text,
      reward: fc.option(number),
      at: fc.nat(),
      status: fc.constantFrom("applied", "late"),
    }),
    fc.boolean(),
    fc.option(fc.record({ hash: fc.string({ minLength: 1 }), action: fc.option(text) })),
  )
  .map(([fields, restates, key]) => ({ type: "conversion", ...fields, ...(restates && { restates }), ...key }));
const mark = fc.record({ type: fc.constant("mark"), mark: fc.constantFrom("configuration", "actions"), content: json });
const erased = fc.constant({ type: "erased" });

function numbered(lines: readonly object[]): EventLine[] {
  return lines.map((line, i) => {
    const { type } = line as { type: string };
    const own = type === "conversion" ? { impression: id(i) } : type === "mark" ? {} : { id: id(i) };
    return { ...line, ...own, seq: 3 * i + 1 } as unknown as EventLine;
  });
}

function opened(bytes: Uint8Array<ArrayBuffer>): Promise<ArchiveFile> {
  const slice = async (start: number, end?: number) => bytes.slice(start, end).buffer;
  return ArchiveFile.open("day.parquet", { byteLength: bytes.length, slice });
}

async function linesIn(file: ArchiveFile): Promise<EventLine[]> {
  const lines: EventLine[] = [];
  for await (const group of file.groups()) lines.push(...group);
  return lines;
}

const encoded = async (lines: readonly EventLine[]) => {
  const file = await encodeFile(HEAD, lines, async () => {});
  if (!file) throw new Error("expected lines");
  return file;
};

it("gives every line back, bit for bit, and writes the same bytes again", async () => {
  const lines = fc.array(fc.oneof(impression, conversion, mark, erased), { minLength: 1, maxLength: 30 }).map(numbered);
  await fc.assert(
    fc.asyncProperty(lines, async (given) => {
      const { bytes, head } = await encoded(given);
      expect(await linesIn(await opened(bytes))).toEqual(given);
      expect(head).toEqual({ ...HEAD, first: 1, last: 3 * given.length - 2, rows: given.length });
      expect((await encoded(given)).bytes).toEqual(bytes);
    }),
    { numRuns: 60 },
  );
});

it("gives a -0 within a mark back as 0, as JSON does", async () => {
  const { bytes } = await encoded(numbered([{ type: "mark", mark: "actions", content: { size: [-0, { deep: -0 }] } }]));
  expect(await linesIn(await opened(bytes))).toEqual(numbered([{ type: "mark", mark: "actions", content: { size: [0, { deep: 0 }] } }]));
});

it("names a file that was cut at any place, or whose description was altered", async () => {
  const lines = numbered(fc.sample(impression, { numRuns: 20 }));
  const { bytes } = await encoded(lines);
  for (let length = 0; length < bytes.length; length += 7) {
    const error = await opened(bytes.slice(0, length))
      .then(linesIn)
      .catch((thrown) => thrown);
    expect(error, `cut at ${length}`).toBeInstanceOf(ArchiveError);
    expect(error.message).toMatch(/^day\.parquet: cannot be read, download it again: /);
  }
  for (let at = bytes.length - 600; at < bytes.length; at += 3) {
    const altered = bytes.map((byte, i) => (i === at ? byte ^ 0x55 : byte));
    const result = await opened(altered)
      .then(linesIn)
      .catch((thrown) => thrown);
    expect(Array.isArray(result) || result instanceof ArchiveError, `altered at ${at}: ${result}`).toBe(true);
  }
});

it("has as many rows in a file and in a row group as their limits say, and as many characters", async () => {
  const whole = { ...LIMITS };
  try {
    const all = numbered(fc.sample(impression, { numRuns: 50 })).map((line) => ({ ...line, context: { text: "a".repeat(1000) } }));
    const sizesUnder = async (limits: Partial<typeof LIMITS>) => {
      Object.assign(LIMITS, whole, limits);
      let pauses = 0;
      const file = await encodeFile(HEAD, all, async () => void pauses++);
      const sizes: number[] = [];
      for await (const lines of (await opened((file as EncodedFile).bytes)).groups()) sizes.push(lines.length);
      return { sizes, pauses, rows: file?.head.rows };
    };
    expect(await sizesUnder({})).toEqual({ sizes: [50], pauses: 0, rows: 50 });
    expect(await sizesUnder({ groupRows: 20 })).toEqual({ sizes: [20, 20, 10], pauses: 2, rows: 50 });
    expect(await sizesUnder({ groupRows: 20, fileRows: 25 })).toEqual({ sizes: [20, 5], pauses: 1, rows: 25 });
    const { sizes } = await sizesUnder({ groupCharacters: 5000 });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5);
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(1);
    // The bytes of a file count after each row group.
    expect((await sizesUnder({ groupRows: 10, fileBytes: 500 })).sizes).toEqual([10]);
  } finally {
    Object.assign(LIMITS, whole);
  }
});

it("without the content of some rows has their numbers and ids, and every other line", async () => {
  const lines = fc.array(fc.oneof(impression, conversion, mark, erased), { minLength: 1, maxLength: 12 }).map(numbered);
  await fc.assert(
    fc.asyncProperty(lines, fc.integer({ min: 1, max: 4 }), async (given, nth) => {
      const isErased = ({ seq }: EventLine) => seq % nth === 0;
      const left = await (await opened((await encoded(given)).bytes)).without(isErased);
      const expected = given.map((line) => {
        if (!isErased(line) || line.type === "mark") return line;
        return { type: "erased", seq: line.seq, id: impressionOf(line) };
      });
      const isSame = given.every((line) => !isErased(line) || line.type === "mark" || line.type === "erased");
      if (isSame) expect(left).toBeUndefined();
      else expect(await linesIn(await opened((left as EncodedFile).bytes))).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});
