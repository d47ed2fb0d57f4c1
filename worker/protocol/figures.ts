import * as v from "valibot";
import type { Frozen } from "./model-options.ts";

// Forms of values in answers.

export const number = v.number();
export const whole = v.pipe(number, v.integer());
export const count = v.pipe(whole, v.minValue(0));
export const time = v.pipe(whole, v.minValue(0), v.description("Milliseconds since 1970."));
export const share = v.pipe(number, v.minValue(0), v.maxValue(1));

/** A figure that needs more data: it stands in place of the number. The same as `TooFew` of the SDK. */
export const tooFewFigure = v.pipe(
  v.strictObject({
    tooFew: v.strictObject({
      more: v.pipe(whole, v.minValue(1), v.description("About how many more are needed.")),
      of: v.pipe(v.string(), v.description("What is counted, in the plural, such as conversions.")),
    }),
  }),
  v.description("Too little data for this figure."),
);

export const impressionId = v.pipe(v.string(), v.description("Signed, opaque name of the impression."));
export const modelVersion = v.pipe(count, v.description("Version of the model that decided. Every learnt event raises it."));
export const arm = v.pipe(
  v.picklist(["policy", "holdout", "default", "catalogue"]),
  v.description(
    "policy: chosen by the policy. holdout: uniform control. default: no candidate was left. catalogue: in the catalogue's order, while the model learns its log again after an upgrade.",
  ),
);

export const generation = v.pipe(count, v.description("Start of the model, in ms since 1970. A reset starts a new generation."));
export const probability = v.optional(
  v.pipe(
    share,
    v.description(
      "Propensity: the chance of this action at this place, over all lists that the request could have got. 1 for a pinned action. Absent if the policy does not know it.",
    ),
  ),
);

/** The value that a schema of an answer describes, read-only. */
export type Body<Schema extends v.GenericSchema> = Frozen<v.InferOutput<Schema>>;
/** A figure that needs more data. */
export type TooFewFigure = Body<typeof tooFewFigure>;
/** The experiment group of a decision. */
export type Assignment = v.InferOutput<typeof arm>;
