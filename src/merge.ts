// Adds up snapshots of recommenders that learnt apart, which is possible where the state is a sum.

import { compileCore } from "#core-module";
import { instantiate } from "./core/core.ts";
import { onlyDecides } from "./policy/policy.ts";
import type { PolicyFactory } from "./policy/rule.ts";
import { Recommender } from "./recommender.ts";
import { record, wrongType } from "./values/argument.ts";
import { SnapshotError, UnsupportedError } from "./values/errors.ts";
import { SnapshotReader } from "./values/snapshot.ts";

/** Options that must be the same. */
const SAME = ["policy", "window", "reward", "goals", "examination", "seed"];

/**
 * Merges snapshots of recommenders with the same options, each of which has learnt other impressions. The result is the recommender that
 * has learnt all of them: whoever learnt what, in which order, it has the bytes of one recommender after its `refactor`. So shards of a
 * model, or parts of a log, learn by themselves and then become one.
 *
 * **Needs:** a window in ms, and a policy that `merges`: `bestsellers`, `delayLinTs` and `delayLinUcb` with linear rewards and without a
 * half-life, `otfLinTs` and `otfLinUcb` with `norms: "exact"`. No event may come for an impression that its recommender has forgotten.
 * **Exact:** for features and rewards that are multiples of 2^-12, as those of the encoder are, and times in whole ms. Sums of other numbers,
 * or with weights of places, agree to rounding. See `Policy.rangeUsed`.
 * **Cost:** that of restoring each snapshot and the result, and of one `refactor`.
 *
 * @example
 * const recommender = await merge([first.snapshot(), second.snapshot()], { policies });
 * @throws {RangeError} for no snapshot.
 * @throws {SnapshotError} as `Recommender.restore`, also for sums that are too large together; code `differs` for snapshots of different
 *   options, or with the same impression.
 * @throws {NumericalError} if the sums have no factor, which only another program can cause.
 * @throws {UnsupportedError} code `no-sum` for another policy, `rounds` without a window in ms, `only-decides` for a publication.
 */
export async function merge(
  snapshots: readonly Uint8Array[],
  options: { readonly policies: readonly PolicyFactory[]; readonly module?: WebAssembly.Module },
): Promise<Recommender> {
  if (!Array.isArray(snapshots)) throw wrongType("snapshots", "an array of snapshots", snapshots);
  if (snapshots.length === 0) throw new RangeError("snapshots: expected at least one snapshot, got none");
  const module = options?.module ?? (await compileCore());
  const core = await instantiate(module);
  let merged: Recommender | undefined;
  let expected: Config = {};
  for (const [i, bytes] of snapshots.entries()) {
    const own = await Recommender.restore(bytes, { ...options, module });
    if (!own.policy.learns) throw onlyDecides(own.policy.id);
    const config = configOf(new SnapshotReader(core, bytes));
    if (!merged) {
      checkMerges(own, config);
      [merged, expected] = [own, config];
    } else {
      checkSame(`snapshots[${i}]`, expected, config);
      merged.absorb(own);
    }
  }
  merged?.refactor();
  // Each part may be sound, and their sum beyond what a snapshot holds.
  await Recommender.restore((merged as Recommender).snapshot(), { ...options, module });
  return merged as Recommender;
}

/** All options in a snapshot, by name. Those of the policy follow its id. */
type Config = Readonly<Record<string, unknown>>;

function configOf(reader: SnapshotReader): Config {
  const config = record("config", reader.json());
  return { ...config, policy: [reader.header.policyId, config.policy] };
}

/** Throws unless the state is a sum. */
function checkMerges({ policy }: Recommender, { window }: Config): void {
  if (policy.merges !== true) {
    const expected = policy.merges || "a policy whose state is a sum, such as delay-lin-ts";
    throw new UnsupportedError("no-sum", `${policy.id}: expected ${expected}, as other states do not merge`);
  }
  if (typeof window !== "object" || !("ms" in (window as object))) {
    throw new UnsupportedError("rounds", "window: expected one in ms, as each recommender counts rounds of its own");
  }
}

function checkSame(name: string, expected: Config, given: Config): void {
  for (const option of SAME) {
    const [own, other] = [expected, given].map((config) => JSON.stringify(config[option]));
    if (own !== other) throw new SnapshotError("differs", `${name}: expected the ${option} of the first snapshot, ${own}, got ${other}`);
  }
}
