import { readFileSync } from "node:fs";
import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { NumericalError, policies, Recommender, SnapshotError } from "afterclick";
import { listed } from "../conformance/stated.ts";
import { freshCore } from "../property/core.ts";
import { changed, configOf, contentsOf, crafted } from "./crafted.ts";
import { create, history } from "./history.ts";
import { stream } from "./scenario.ts";

// Restores crafted snapshots in a thread of its own, which the test can end if one of them hangs.

/** The fate of a crafted snapshot. */
export interface Fate {
  readonly name: string;
  /** "refused" by `restore`, "decided", "not computable" if a decision was refused with a NumericalError, or any other error. */
  readonly fate: string;
  readonly cpuMs: number;
  /** Growth of the heap with its external memory, and the core's memory. */
  readonly bytes: number;
}

/** `per`: snapshots for each setting of each policy. Or `files`: snapshots in files. */
export type Task = { readonly per: number } | { readonly files: readonly string[] };

const module = new WebAssembly.Module(readFileSync(new URL("../../dist/core.wasm", import.meta.url)));

const heapBytes = (): number => {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
};

/** Restores, decides, counts a conversion of the decision, and decides again. */
async function fateOf(name: string, bytes: Uint8Array): Promise<Fate> {
  const [heap, cpu] = [heapBytes(), process.cpuUsage()];
  let core = 0;
  const done = (fate: string): Fate => {
    const { user, system } = process.cpuUsage(cpu);
    return { name, fate, cpuMs: (user + system) / 1000, bytes: Math.max(heapBytes() - heap, 0) + core };
  };
  let recommender: Recommender;
  try {
    recommender = await Recommender.restore(bytes, { policies, module });
  } catch (error) {
    return done(error instanceof SnapshotError ? "refused" : `restore: ${error}`);
  }
  try {
    use(recommender, bytes);
    return done("decided");
  } catch (error) {
    return done(error instanceof NumericalError ? "not computable" : `decision: ${error}`);
  } finally {
    core = recommender.memoryBytes;
  }
}

function use(recommender: Recommender, bytes: Uint8Array): void {
  const { dimension, hasDomain } = recommender.policy;
  const { window, reward } = configOf(bytes);
  const now = typeof window === "object" && "ms" in window ? { now: 40_000 } : {};
  const features = (i: number): Float64Array => new Float64Array(dimension).map((_, j) => ((i + 3 * j) % 7) / 8);
  const request = { ...now, ...(!hasDomain && { candidates: [0, 1, 2, 3].map((i) => ({ features: features(i) })) }) };
  const { action } = recommender.recommend(request);
  try {
    if (!recommender.policy.learns) return;
    recommender.convert({ impressionId: action.impressionId, reward: reward.min, at: 40_001 });
  } catch (error) {
    // A count may say that there is nothing to convert.
    if (!(error instanceof RangeError)) throw error;
  }
  recommender.recommend(request);
}

/** Names each snapshot before it is restored, so that the test can name the one that hangs. */
function announced(place: string, bytes: Uint8Array): Promise<Fate> {
  parentPort?.postMessage(place);
  return fateOf(place, bytes);
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

const task = workerData as Task;
const found: Fate[] = [];
if ("files" in task) for (const file of task.files) found.push(await announced(file, readFileSync(file)));
else for await (const fate of fates(task.per)) found.push(fate);
parentPort?.postMessage(found);
