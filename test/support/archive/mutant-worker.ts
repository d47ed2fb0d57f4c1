import { parentPort, workerData } from "node:worker_threads";
import { ArchiveError, ArchiveFile, encodeFile, LIMITS } from "../../../worker/domain/archive/archive-file.ts";
import type { EventLine } from "../../../worker/domain/log/log-line.ts";
import { stream } from "../scenario.ts";

// Reads altered archived files in a thread of its own, which the test can end if one of them makes the reader hang.

/** What reading an altered file came to: "whole", "refused" or another error, with its cost. */
export interface Fate {
  readonly seed: number;
  readonly fate: string;
  readonly ms: number;
  readonly bytes: number;
}

export interface Task {
  readonly seeds: number;
}

/** Lines with a value in every column, in several row groups. */
function* lines(): Generator<EventLine> {
  const random = stream(3);
  for (let seq = 1; seq <= 40; seq++) {
    const id = `01ec4aea-caaf-7519-b02b-${Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(12, "0")}`;
    if (seq % 20 === 0) yield { type: "mark", seq, mark: "actions", content: { size: seq, changed: [] } };
    else if (seq % 7 === 0) {
      const keyed = seq % 2 === 0 && { hash: `hash ${seq}`, action: "mug" };
      yield {
        type: "conversion",
        seq,
        impression: id,
        goal: "order",
        event: `e${seq}`,
        reward: 0.5,
        at: seq,
        status: "applied",
        restates: true,
        ...keyed,
      };
    } else if (seq % 11 === 0) yield { type: "erased", seq, id };
    else {
      const features = Array.from({ length: 4 }, (_, i) => (i === seq % 4 ? random() : 0));
      const decision = {
        score: random(),
        mean: random(),
        width: random(),
        probability: random(),
        place: seq % 5,
        candidates: 9,
        first: id,
      };
      const common = {
        state: "live" as const,
        arm: "policy" as const,
        action: `a${seq % 9}`,
        round: seq,
        version: seq,
        reward: seq % 3 ? null : 1,
      };
      const rest = {
        context: { country: "PT" },
        decision,
        converted: seq % 3 === 0,
        shownAt: seq,
        features,
        hashes: [`h${seq}`],
        byPage: true,
        sampling: 1,
      };
      yield { type: "impression", seq, id, ...common, ...rest };
    }
  }
}

/** One or two changes: a bit or a byte replaced, bytes inserted or deleted. */
function altered(bytes: Uint8Array, random: () => number): Uint8Array<ArrayBuffer> {
  let result = Array.from(bytes);
  for (let left = random() < 0.7 ? 1 : 2; left > 0; left--) {
    const at = Math.floor(random() * result.length);
    const byte = [0, 0x7f, 0x80, 0xff, Math.floor(random() * 256)][Math.floor(random() * 5)];
    const change = Math.floor(random() * 5);
    if (change === 0) result[at] ^= 1 << Math.floor(random() * 8);
    else if (change < 3) result[at] = byte;
    else if (change === 3) result = result.toSpliced(at, 0, byte);
    else result = result.toSpliced(at, 1 + Math.floor(random() * 4));
  }
  return Uint8Array.from(result);
}

async function read(bytes: Uint8Array<ArrayBuffer>, columns?: ["type", "seq", "id", "hash", "hashes"]): Promise<void> {
  const slice = async (start: number, end?: number) => bytes.slice(start, end).buffer;
  const file = await ArchiveFile.open("day.parquet", { byteLength: bytes.length, slice });
  for await (const _ of file.groups(columns));
}

const heap = (): number => process.memoryUsage().rss;
const { seeds } = workerData as Task;
Object.assign(LIMITS, { groupRows: 20 });
const head = { model: "shop", generation: 1, from: 0, until: 2 ** 42, whole: 1, version: 1 };
const { bytes } = (await encodeFile(head, lines(), async () => {})) ?? { bytes: new Uint8Array() };
const fates: Fate[] = [];
for (let seed = 0; seed < seeds; seed++) {
  parentPort?.postMessage(`seed ${seed}`);
  const mutant = altered(bytes, stream(seed));
  const [before, start] = [heap(), performance.now()];
  const done = (fate: string) => fates.push({ seed, fate, ms: performance.now() - start, bytes: heap() - before });
  await read(mutant, seed % 2 ? ["type", "seq", "id", "hash", "hashes"] : undefined).then(
    () => done("whole"),
    (error) => done(error instanceof ArchiveError ? "refused" : `${error}`),
  );
}
parentPort?.postMessage(fates);
