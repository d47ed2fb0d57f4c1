import type { EncodingReport } from "../domain/encoding.ts";
import { EVENTS, INCIDENTS } from "../rpc/counters.ts";
import type { Description } from "../rpc/message.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** The part of a description that comes from the running model. */
export interface Describing {
  /** Null if this version of the worker does not read the state. */
  readonly digest: string | null;
  readonly report: EncodingReport;
  readonly relearning: Description["relearning"];
}

/** Describes a model: its configuration, its counts and its versions. */
export function describe(store: LearnerStore, { digest, report, relearning }: Describing, now: number): Description {
  const { config } = store;
  const { converted, retracted, impressions, ...counters } = store.counters();
  const cohorts = store.tallies.cohortsSince(now - config.window.ms, config.window.ms);
  const open = (name: "impressions" | "observed" | "converted") => cohorts.reduce((sum, cohort) => sum + cohort[name], 0);
  const pending = open("impressions") - open("observed");
  const settled = impressions - open("impressions");
  const { version, at } = store.published;
  return {
    model: store.name,
    generation: store.generation,
    ...config,
    counts: {
      impressions,
      pending,
      converted,
      retracted,
      expired: impressions - pending - converted - retracted,
      ...picked(counters, EVENTS),
    },
    incidents: picked(counters, INCIDENTS),
    actions: store.catalogue.size,
    encoding: report.of(store.catalogue.actions),
    bytes: store.bytes,
    digest,
    modelVersion: store.seq,
    published: at === null ? null : { version, at },
    relearning,
    kept: store.snapshots.versions(),
    // Pending impressions may still convert, so only impressions with a closed window count.
    conversionRate: settled > 0 ? (converted - open("converted")) / settled : null,
  };
}

function picked<Name extends string>(counters: Readonly<Record<Name, number>>, names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, counters[name]])) as Record<Name, number>;
}
