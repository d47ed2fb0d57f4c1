// Types of `afterclick/worker` for TypeScript 5.6. Hono's own types need 5.7, so the app is a handler of requests:
// `shop.mount("/recommender", app.fetch)` takes it.
import { DurableObject } from "cloudflare:workers";
import type { Settings } from "../settings.ts";

/** Bindings and variables of the worker. */
export interface Environment extends Settings {
  readonly LEARNER: DurableObjectNamespace;
}

/** The worker's routes. */
export interface App {
  fetch(request: Request, env: Environment, context?: ExecutionContext): Response | Promise<Response>;
}

/** The worker's own app: one per isolate. */
export declare const app: App;

/** The worker's routes. Each app has its own model caches and outboxes, like an isolate of its own. */
export declare function createApp(): App;

/** The worker's handlers of requests and of its schedule. */
export declare const handler: {
  fetch: App["fetch"];
  scheduled(controller: ScheduledController, env: Environment): Promise<void>;
};

/** The Durable Object of a model. */
export declare class Learner extends DurableObject<Environment> {}
