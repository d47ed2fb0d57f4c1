import { readFileSync } from "node:fs";
import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { merge, NumericalError, policies, Recommender, SnapshotError } from "afterclick";
import { listed } from "../../conformance/stated.ts";
import { freshCore } from "../core.ts";
import { create, history } from "../logs/history.ts";
import { stream } from "../scenario.ts";
import { changed, configOf, contentsOf, crafted } from "./crafted.ts";

// Restores crafted snapshots in a thread of its own, which the test can end if one of them hangs.

/** The fate of a crafted snapshot. */
export interface Fate {
  readonly name: string;
  /** "refused" by `restore`, "decided", "not computable" if a decision was refused with a NumericalError, or any other error, also of a later restoring. */
  readonly fate: string;
  readonly cpuMs: number;
  /** Growth of the heap with its external memory, and the core's memory. */
  readonly bytes: number;
}

/** `per`: snapshots for each setting of each policy. `merged`: for each setting that merges. Or `files`: snapshots in files. */
export type Task = { readonly per: number } | { readonly merged: number } | { readonly files: readonly string[] };

const module = new WebAssembly.Module(readFileSync(new URL("../../../dist/core.wasm", import.meta.url)));

const heapBytes = (): number => {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
};

type Restoring = () => Promise<Recommender>;

const restoring =
  (bytes: Uint8Array): Restoring =>
  () =>
    Recommender.restore(bytes, { policies, module });

const merging =
  (snapshots: readonly Uint8Array[]): Restoring =>
  () =>
    merge(snapshots, { policies, module });

/** How often a restored recommender decides, learns, stores its state and is restored from it. */
const TIMES = 3;

/** Restores, and restores what the restored one stores. Then decides, counts a conversion, decides again, stores and restores, some times. */
async function fateOf(name: string, bytes: Uint8Array, restore = restoring(bytes)): Promise<Fate> {
  const [heap, cpu] = [heapBytes(), process.cpuUsage()];
  let core = 0;
  let grown: number | undefined;
  const done = (fate: string): Fate => {
    const { user, system } = process.cpuUsage(cpu);
    return { name, fate, cpuMs: (user + system) / 1000, bytes: Math.max((grown ?? heapBytes()) - heap, 0) + core };
  };
  let recommender: Recommender;
  try {
    recommender = await restore();
  } catch (error) {
    return done(error instanceof SnapshotError || error instanceof NumericalError ? "refused" : `restore: ${error}`);
  }
  try {
    if (recommender.policy.learns) recommender = await Recommender.restore(recommender.snapshot(), { policies, module });
  } catch (error) {
    return done(`what it stores: ${error}`);
  }
  try {
    for (let time = 0; time < TIMES; time++) {
      use(recommender, bytes, 40_000 + 4000 * time);
      // Later copies of the state count for the collector.
      grown ??= heapBytes();
      if (recommender.policy.learns) recommender = await Recommender.restore(recommender.snapshot(), { policies, module });
    }
    return done("decided");
  } catch (error) {
    return done(error instanceof NumericalError ? "not computable" : `decision: ${error}`);
  } finally {
    core = recommender.memoryBytes;
  }
}

function use(recommender: Recommender, bytes: Uint8Array, at: number): void {
  const { dimension, hasDomain } = recommender.policy;
  const { window, reward } = configOf(bytes);
  const now = typeof window === "object" && "ms" in window ? { now: at } : {};
  const features = (i: number): Float64Array => new Float64Array(dimension).map((_, j) => ((i + 3 * j) % 7) / 8);
  const request = { ...now, ...(!hasDomain && { candidates: [0, 1, 2, 3].map((i) => ({ features: features(i) })) }) };
  const { action } = recommender.recommend(request);
  try {
    if (!recommender.policy.learns) return;
    recommender.convert({ impressionId: action.impressionId, reward: reward.min, at: at + 1 });
  } catch (error) {
    // A count may say that there is nothing to convert.
    if (!(error instanceof RangeError)) throw error;
  }
  recommender.recommend(request);
}

/** Names each snapshot before it is restored, so that the test can name the one that hangs. */
function announced(place: string, bytes: Uint8Array, restore?: Restoring): Promise<Fate> {
  parentPort?.postMessage(place);
  return fateOf(place, bytes, restore);
}

async function* fates(per: number): AsyncGenerator<Fate> {
  const { core } = freshCore();
  for (const [i, { name, factory, setting }] of listed.entries()) {
    const recommender = await create(factory, setting, i % 2 ? { ms: 9000 } : { rounds: 8 });
    for (const event of history(recommender, setting, stream(21))) recommender.convert(event);
    const forms = { snapshot: recommender.snapshot(), ...(factory.publishes && { publication: recommender.publication() }) };
    for (const [form, bytes] of Object.entries(forms)) {
      const contents = contentsOf(bytes);
      for (let seed = 0; seed < per; seed++) {
        yield announced(`${form} of ${name}, change ${seed}`, crafted(core, changed(contents, stream(1_000_003 * i + seed))));
      }
    }
  }
}

/** Crafted snapshots that merge alone, with one that is whole, in either order, or with another crafted one. */
async function* mergedFates(per: number): AsyncGenerator<Fate> {
  const { core } = freshCore();
  for (const [i, { name, factory, setting }] of listed.entries()) {
    const [one, other] = await Promise.all([0, 1].map(() => create(factory, setting, { ms: 9000 })));
    if (one.policy.merges !== true) continue;
    for (const [place, each] of [one, other].entries())
      for (const event of history(each, setting, stream(21 + place), true, `${place}`)) each.convert(event);
    const whole = other.snapshot();
    const [contents, others] = [one.snapshot(), whole].map(contentsOf);
    for (let seed = 0; seed < per; seed++) {
      // The same change of both.
      const [bytes, second] = [contents, others].map((each) => crafted(core, changed(each, stream(1_000_003 * i + seed))));
      const snapshots = [[bytes], [bytes, whole], [whole, bytes], [bytes, second]][seed % 4];
      yield announced(`merge of ${name}, change ${seed}`, bytes, merging(snapshots));
    }
  }
}

const task = workerData as Task;
const found: Fate[] = [];
if ("files" in task) for (const file of task.files) found.push(await announced(file, readFileSync(file)));
else for await (const fate of "per" in task ? fates(task.per) : mergedFates(task.merged)) found.push(fate);
parentPort?.postMessage(found);
