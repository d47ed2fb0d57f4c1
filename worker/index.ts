import { app } from "./edge/app.ts";
import { rehearse } from "./edge/rehearsal.ts";
import type { Environment } from "./environment.ts";
import { PublicationStore } from "./kv/publication-store.ts";
import { learner } from "./rpc/learner-client.ts";

export { Learner } from "./learner/learner.ts";

await rehearse(app);

export default {
  fetch: app.fetch,

  /** Wakes every learner, in case one has lost its alarm. */
  async scheduled(_: ScheduledController, env: Environment): Promise<void> {
    const models = await new PublicationStore(env.EVENTS).list();
    await Promise.allSettled(models.map(({ model }) => learner(env, model, (stub) => stub.heal())));
  },
} satisfies ExportedHandler<Environment>;
