import type { EncodingReport } from "../../domain/model/encoding.ts";
import { FIGURE_NAMES } from "../../protocol/counted.ts";
import { EVENTS, INCIDENTS } from "../../rpc/counters.ts";
import type { Description } from "../../rpc/message.ts";
import type { Totals } from "../../rpc/model-counts.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import { reachedOf } from "./reached.ts";

/** The part of a description that comes from the running model. */
export interface Describing {
  /** Null if this version of the worker does not read the state. */
  readonly digest: string | null;
  /** The version of the policies that decide. */
  readonly version: number;
  readonly report: EncodingReport;
}

/** Describes a model that has these totals: its configuration, its counts and its versions. */
export function description(
  store: LearnerStore,
  { counters: all, figures, open, bytes, relearning }: Totals,
  { digest, version: modelVersion, report }: Describing,
): Description {
  const { converted, retracted, impressions, erased, erasedObserved, erasedConverted } = all;
  const pending = open.impressions - open.observed;
  const settled = impressions - open.impressions - erased;
  const { name: model, generation, config, published } = store.model;
  return {
    model,
    generation,
    ...config,
    counts: {
      ...picked(all, FIGURE_NAMES),
      pending,
      expired: impressions - pending - converted - retracted - (erased - erasedObserved),
      ...picked(all, EVENTS),
    },
    reached: config.goals && reachedOf(config.goals, figures, impressions),
    incidents: picked(all, INCIDENTS),
    actions: store.catalogue.size,
    encoding: report.of(store.catalogue.actions),
    bytes,
    digest,
    modelVersion,
    published: published.at === null ? null : { version: published.version, at: published.at },
    relearning,
    kept: store.editions.list(),
    // Pending impressions may still convert, so only impressions with a closed window count.
    conversionRate: settled > 0 ? (converted - open.converted - erasedConverted) / settled : null,
  };
}

function picked<Name extends string>(counters: Readonly<Record<Name, number>>, names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, counters[name]])) as Record<Name, number>;
}
