import { encoder } from "afterclick";
import { stream } from "../../src/simulation/stream.ts";
import { programs } from "../program.ts";
import { actionsOf, contextsOf, DRAWS, decider, encoderOptions, inputsOf, publicationOf, type Size, termsOf } from "../shop.ts";
import { local, type Missing, prepared, type Variant } from "../variant.ts";
import type { Target, Workload } from "../workload.ts";

// A decision among a whole catalogue, as an isolate makes it from a publication: it encodes all actions in the visitor's context, scores
// them under 100 draws, and ranks six with their probabilities.

const ACTIONS = [100, 1000, 10_000];
const DIMENSIONS = [128, 256, 1024];

export const decisionWorkloads: readonly Workload[] = [
  ...DIMENSIONS.flatMap((d) => ACTIONS.map((k) => deciding(`decision k=${k} d=${d}`, { k, d }, { peers: productOf }))),
  ...[2, 11].map((visitor) => deciding(`decision k=1000 d=256 terms=${termsOf(visitor)}`, { k: 1000, d: 256, visitor })),
  ...ACTIONS.map((k) => deciding(`decision-goals k=${k} d=128`, { k, d: 128, goals: 2 })),
  deciding("decision-goals k=1000 d=128 goals=4", { k: 1000, d: 128, goals: 4 }),
  ...ACTIONS.map((k) => deciding(`greedy k=${k} d=128`, { k, d: 128 }, { greedy: true })),
  catalogue(),
  ...[100, 1000].map(drawing),
];

interface Further {
  readonly greedy?: boolean;
  readonly peers?: (size: Size) => Promise<Record<string, Variant | Missing>>;
}

function deciding(name: string, size: Size, { greedy, peers }: Further = {}): Workload {
  const targets: Target[] = peers && size.k >= 1000 && size.d <= 256 ? [{ variant: "afterclick", peer: "numpy", atLeast: 2 }] : [];
  return {
    name,
    unit: "ms",
    rounds: size.k === 10_000 ? 9 : 15,
    peer: "afterclick",
    targets,
    async prepare({ alone, quick } = {}) {
      const asked = quick ? { ...size, k: Math.min(size.k, 1000) } : size;
      return prepared("ms", { afterclick: await own(asked, quick, greedy), ...(!alone && (await peers?.(asked))) });
    },
  };
}

async function own(size: Size, quick?: boolean, greedy?: boolean, draws?: number): Promise<Variant> {
  const decide = await decider(await publicationOf(size, quick), size.d, inputsOf(size), { greedy, draws });
  let made = 0;
  return local(() => decide(made++));
}

/**
 * The product of the k vectors and 100 draws alone, dense and sparse. It is a part of the work: a peer need not encode, rank or count
 * probabilities.
 */
async function productOf({ k, d }: Size): Promise<Record<string, Variant | Missing>> {
  const vectors = encoder(encoderOptions(d))
    .among(actionsOf(k))(contextsOf()[0])
    .rows(Array.from({ length: k }, (_, i) => i));
  const draws = Float64Array.from({ length: DRAWS * d }, stream("bench", "draws", d).normal);
  const started = async (workload: string) => programs({ workload, numbers: [k, d], arrays: [vectors, draws] }, ["numpy"]);
  const [dense, sparse] = [await started("product"), await started("sparse-product")];
  return {
    numpy: dense.numpy,
    scipy: sparse.numpy,
    ...(d === 128 && k <= 1000 && { "vowpal-wabbit": { missing: "the npm package @vowpalwabbit/vowpalwabbit cannot be installed here" } }),
  };
}

/** How the time grows with the catalogue. Ten times the actions may take twelve times as long. */
function catalogue(): Workload {
  const [many, few] = ["10,000 actions", "1,000 actions"];
  return {
    name: "catalogue-decision",
    unit: "ms",
    rounds: 15,
    peer: few,
    targets: [{ variant: many, peer: few, atLeast: 1 / 12 }],
    async prepare({ quick } = {}) {
      return prepared("ms", { [many]: await own({ k: 10_000, d: 128 }, quick), [few]: await own({ k: 1000, d: 128 }, quick) });
    },
  };
}

/** How the time grows with the number of draws. */
function drawing(k: number): Workload {
  const size = { k, d: 128 };
  return {
    name: `decision-draws k=${k} d=128`,
    unit: "ms",
    rounds: 15,
    peer: "100 draws",
    async prepare({ quick } = {}) {
      const variants = [20, 50, 100].map(async (draws) => [`${draws} draws`, await own(size, quick, false, draws)] as const);
      return prepared("ms", Object.fromEntries(await Promise.all(variants)));
    },
  };
}
