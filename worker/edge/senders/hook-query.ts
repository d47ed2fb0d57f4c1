import * as v from "valibot";
import { formed, goal, modelName } from "../../protocol/forms.ts";

/**
 * Names, places and filters, such as `lines[0].price`. `$.` before them starts at the whole payload. Filters have no quotes, because a
 * variable of a path may stand in quotes of either kind.
 */
export const jsonPath = formed(
  /^(\$\.)?[\w-]+(\[(\d+|[\w-]+=[^\]'"]+)\])*(\.[\w-]+(\[(\d+|[\w-]+=[^\]'"]+)\])*)*$/,
  "a path such as $.lines, price.amount or meta_data[key=sku].value",
);

/** How the sales of a sender become conversions. `key` and `action` are paths in the payload. */
export const hookQuery = v.object({
  goal: v.optional(goal),
  model: v.optional(modelName),
  key: v.optional(jsonPath),
  action: v.optional(jsonPath),
});
export type HookQuery = v.InferOutput<typeof hookQuery>;
