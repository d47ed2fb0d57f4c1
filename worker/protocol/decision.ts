import * as v from "valibot";
import { actionId, finite, goal, list, optional, record, strictObject, text, wholeNumber } from "./forms.ts";
import { MOST_LEFT_OUT } from "./most.ts";
import { place, probability, restrictions } from "./schema.ts";

// How an impression was decided, as the log and answers state it.

const count = wholeNumber(0, Number.MAX_SAFE_INTEGER);

/** Restrictions that a request puts on a decision. The length of the list is absent without pins and bounds. */
const asked = strictObject({
  ...optional(restrictions),
  /** Candidates that the model left out, as the visitor had bought them or seen them often. */
  leftOut: v.optional(list(actionId, MOST_LEFT_OUT)),
});

export const decision = {
  score: finite,
  /** The posterior mean, which may be outside the range of rewards. Answers state the nearest value inside it. */
  mean: finite,
  width: finite,
  /** Absent if the policy does not know it. */
  probability: v.optional(probability),
  place,
  /** Number of candidates. Null if the policy chose in its own domain. */
  candidates: v.nullable(count),
  /** Version of the catalogue. Absent if it is that of the model's version. */
  catalogue: v.optional(count),
  /** The action that each shadow ranked first, by the shadow's name. */
  shadows: v.optional(record(goal, actionId, 2)),
  /** Id of the list's first impression, from which the whole list was drawn. Absent at the first place. */
  first: v.optional(text(256)),
  /** With these restrictions and the model version, the decision can be repeated. */
  asked: v.optional(asked),
};
export const decided = strictObject(decision);

export type Decision = Readonly<v.InferOutput<typeof decided>>;
export type Asked = Readonly<v.InferOutput<typeof asked>>;
