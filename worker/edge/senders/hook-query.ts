import * as v from "valibot";
import { formed, goal, modelName } from "../../protocol/forms.ts";

/** Names and places, such as `lines[0].price`. `$.` before them starts at the whole payload. */
export const jsonPath = formed(/^(\$\.)?[\w-]+(\[\d+\])*(\.[\w-]+(\[\d+\])*)*$/, "a path such as $.lines or price.amount");

/** How the sales of a sender become conversions. `key` and `action` are paths in the payload. */
export const hookQuery = v.object({
  goal: v.optional(goal),
  model: v.optional(modelName),
  key: v.optional(jsonPath),
  action: v.optional(jsonPath),
});
export type HookQuery = v.InferOutput<typeof hookQuery>;
