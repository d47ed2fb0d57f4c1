import type { Publication, StoredSnapshot } from "../domain/publication.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** The publication of the newest snapshot. The store must hold one. */
export function publicationOf(store: LearnerStore, publishedAt: number): Publication {
  const { name: model, generation, config } = store;
  const { seq: version, parts } = store.snapshots.newest() as StoredSnapshot;
  return { model, generation, version, publishedAt, config, actions: store.catalogue.actions, parts };
}
