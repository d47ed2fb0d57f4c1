import type { StoredImpression } from "../../../domain/impression/impression.ts";
import { NOTHING, type Outcome } from "../../../domain/impression/outcome.ts";
import type { Found } from "./block-store.ts";
import type { DeferredRow } from "./deferred-store.ts";

/** An impression of a block. An erased one is void. A void one has no outcome, but it may be registered again under the same id. */
export function liveForm(found: Found, outcome: Outcome | undefined): StoredImpression {
  const state = found.row.action === "" ? "void" : found.state;
  return storedForm({ ...found, state }, state === "live" ? outcome : undefined);
}

/** An impression that is not shown yet. */
export function deferredForm({ seq, row }: DeferredRow): StoredImpression {
  return storedForm({ seq, row, state: "deferred", marks: null });
}

type Stored = Omit<Found, "state"> & Pick<StoredImpression, "state">;

function storedForm({ seq, row, state, marks }: Stored, outcome: Outcome = NOTHING): StoredImpression {
  const { id, name, arm, action, version, sampling, features, context, decision, byPage } = row;
  const { reward, converted, waits, delays, amounts } = outcome;
  return {
    ...{ seq, id, name, state, arm, action, round: marks?.round ?? null, version, reward, sampling },
    ...{ features, context, decision, slots: marks?.slots ?? null, converted, waits, delays, amounts, byPage, erased: action === "" },
  } as StoredImpression;
}
