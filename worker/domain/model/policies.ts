import { policies as factories, merge, Recommender, SnapshotError } from "afterclick";

/** The running policies of a model: the served one first, then its shadows. */
export type Policies = readonly Recommender[];

/** An impression in one policy. */
export type Appended = ReturnType<Recommender["policy"]["append"]>;

/** Snapshots of policies. */
export const partsOf = (policies: Policies): Uint8Array[] => policies.map((recommender) => recommender.snapshot());

/** Restores the policies of a snapshot, or of a publication: then they only decide. `parts` has one per policy. */
export function restorePolicies(parts: readonly Uint8Array[]): Promise<Policies> {
  return Promise.all(parts.map((bytes) => Recommender.restore(bytes, { policies: factories })));
}

/** The policies of a snapshot or a publication. Undefined if this version of the worker cannot read it. */
export function readablePolicies(parts: readonly Uint8Array[]): Promise<Policies | undefined> {
  return restorePolicies(parts).catch(unlessUnreadable);
}

function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof SnapshotError)) throw error;
}

/** The policies with the sums of several learners. `sums`: the snapshots of each learner, one per policy. */
export function mergedPolicies(sums: readonly (readonly Uint8Array[])[]): Promise<Policies> {
  const merged = sums[0].map((_, place) =>
    merge(
      sums.map((parts) => parts[place]),
      { policies: factories },
    ),
  );
  return Promise.all(merged);
}

/** The part of a snapshot that isolates need to decide. Empty if this version of the worker cannot read it. `parts` has one snapshot of the SDK per policy, and `ids` their names. */
export async function publicationParts(parts: readonly Uint8Array[], ids: readonly string[]): Promise<Uint8Array[]> {
  const published = Promise.all(
    parts.map(async (bytes, place) => {
      const factory = factories.find(({ id }) => id === ids[place]);
      // A publication of all of the state would save nothing, and a restored Gaussian process takes much memory.
      if (!factory?.publishes) return bytes;
      return (await Recommender.restore(bytes, { policies: [factory] })).publication();
    }),
  );
  return (await published.catch(unlessUnreadable)) ?? [];
}
