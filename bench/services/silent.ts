import { app } from "../../worker/edge/app.ts";
import type { Environment } from "../../worker/environment.ts";
import type { Learner } from "../../worker/learner/learner.ts";

export { Learner } from "../../worker/learner/learner.ts";

// The worker without registrations at its learner. This leaves the cost of deciding.

const answer = { value: { newest: 0 } };
let silent: Environment | undefined;

export default {
  fetch(request: Request, env: Environment, context: ExecutionContext): Response | Promise<Response> {
    silent ??= { ...env, LEARNER: withoutRegistrations(env.LEARNER) };
    return app.fetch(request, silent, context);
  },
};

function withoutRegistrations(namespace: Environment["LEARNER"]): Environment["LEARNER"] {
  return new Proxy(namespace, {
    get: (target, name) => (name === "get" ? (id: DurableObjectId) => silenced(target.get(id)) : Reflect.get(target, name).bind(target)),
  });
}

function silenced(stub: DurableObjectStub<Learner>): DurableObjectStub<Learner> {
  return new Proxy(stub, {
    get: (target, name) => (name === "registerShown" ? async () => answer : Reflect.get(target, name)),
  });
}
