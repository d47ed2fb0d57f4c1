import { modelParameter } from "../protocol/schema.ts";
import { valid } from "../protocol/validation.ts";

/** Validates the name of the model in the path. */
export const modelPath = valid("param", modelParameter);
