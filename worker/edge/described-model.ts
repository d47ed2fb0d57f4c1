import type { Environment } from "../environment.ts";
import type { ModelBody } from "../protocol/model-answer.ts";
import { learner } from "../rpc/learner-client.ts";
import type { Description } from "../rpc/message.ts";

/** `Description` as JSON: options have names. */
type Described = Omit<Description, "options" | "shadows"> & Pick<ModelBody, "options" | "shadows">;

/** Configuration, counts and digest of a model. */
export async function describedModel(env: Environment, model: string): Promise<Described> {
  return (await learner(env, model, (stub) => stub.describe())) as Described;
}
