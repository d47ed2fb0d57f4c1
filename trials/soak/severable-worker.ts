// The worker of a soak. It is the product's worker, except that a header makes one learner unreachable for its request.
import type { Environment } from "../../worker/environment.ts";
import worker from "../../worker/index.ts";
import { UNREACHABLE_LEARNER } from "./outage.ts";

export { Learner } from "../../worker/index.ts";

type Learners = Environment["LEARNER"];

export default {
  ...worker,
  fetch(request: Request, env: Environment, context: ExecutionContext) {
    const model = request.headers.get(UNREACHABLE_LEARNER);
    return worker.fetch(request, model === null ? env : { ...env, LEARNER: without(env.LEARNER, model) }, context);
  },
} satisfies ExportedHandler<Environment>;

/** The learners without that of one model. Its calls fail as the platform fails them. */
function without(learners: Learners, model: string): Learners {
  const lost = () => Promise.reject(Object.assign(new Error("the object cannot be reached"), { retryable: true }));
  const unreachable = new Proxy({}, { get: () => lost });
  const rest = {
    idFromName: (name: string) => learners.idFromName(name),
    get: (id: DurableObjectId) => (id.name === model ? unreachable : learners.get(id)),
  };
  return rest as unknown as Learners;
}
