import * as v from "valibot";
import type { Frozen } from "./model-options.ts";

// Forms of values in answers.

/** A form with what its value means. Bundles without the description of the API leave both out. */
/* @__NO_SIDE_EFFECTS__ */
export const about = <Form extends v.GenericSchema, const Text extends string>(form: Form, text: Text) => v.pipe(form, v.description(text));

export const number = v.number();
export const whole = v.pipe(number, v.integer());
export const count = v.pipe(whole, v.minValue(0));
export const time = about(v.pipe(whole, v.minValue(0)), "Milliseconds since 1970.");
export const share = v.pipe(number, v.minValue(0), v.maxValue(1));

/** A figure that needs more data: it stands in place of the number. The same as `TooFew` of the SDK. */
export const tooFewFigure = about(
  v.strictObject({
    tooFew: v.strictObject({
      more: about(v.pipe(whole, v.minValue(1)), "About how many more are needed."),
      of: about(v.string(), "What is counted, in the plural, such as conversions."),
    }),
  }),
  "Too little data for this figure.",
);

export const impressionId = about(v.string(), "Signed, opaque name of the impression.");
export const modelVersion = about(count, "Version of the model that decided. Every learnt event raises it.");
export const arm = about(
  v.picklist(["policy", "holdout", "default", "catalogue"]),
  "policy: chosen by the policy. holdout: uniform control. default: no candidate was left. catalogue: in the catalogue's order, while the model learns its log again after an upgrade.",
);

export const generation = about(count, "Start of the model, in ms since 1970. A reset starts a new generation.");
export const probability = v.optional(
  about(
    share,
    "Propensity: the chance of this action at this place, over all lists that the request could have got. 1 for a pinned action. Absent if the policy does not know it.",
  ),
);

/** The value that a schema of an answer describes, read-only. */
export type Body<Schema extends v.GenericSchema> = Frozen<v.InferOutput<Schema>>;
/** A figure that needs more data. */
export type TooFewFigure = Body<typeof tooFewFigure>;
/** The experiment group of a decision. */
export type Assignment = v.InferOutput<typeof arm>;
