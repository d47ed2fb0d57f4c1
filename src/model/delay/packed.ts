import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";

/** Most numbers of one packed part. */
const MOST = 131_072;

/** Packs the arrays that `save` writes into one, which holds each run of zeros as a zero and its length. */
export function packed(save: (writer: Pick<SnapshotWriter, "numbers">) => void): number[] {
  const plain: number[] = [];
  save({ numbers: (...arrays) => arrays.forEach((each) => void plain.push(each.length, ...Array.from(each))) });
  const out: number[] = [];
  for (let i = 0; i < plain.length; ) {
    let run = 0;
    while (i + run < plain.length && plain[i + run] === 0) run++;
    if (run > 0) out.push(0, run);
    else out.push(plain[i]);
    i += Math.max(run, 1);
  }
  return out;
}

/** Reads the arrays of `packed` in their order. @throws {SnapshotError} code `malformed`. */
export function unpacked(numbers: Float64Array): Pick<SnapshotReader, "numbers"> {
  const plain: number[] = [];
  for (let i = 0; i < numbers.length; i++) {
    const run = numbers[i] === 0 ? numbers[++i] : 0;
    if (!Number.isInteger(run) || run < 0 || plain.length + run > MOST) throw malformed();
    if (run === 0) plain.push(numbers[i]);
    else for (let k = 0; k < run; k++) plain.push(0);
  }
  let at = 0;
  return {
    numbers(length) {
      const count = plain[at];
      if (!Number.isInteger(count) || count < 0 || at + 1 + count > plain.length || (length !== undefined && count !== length))
        throw malformed();
      at += 1 + count;
      return Float64Array.from(plain.slice(at - count, at));
    },
  };
}
