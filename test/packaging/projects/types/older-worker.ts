import { type App, app, createApp, type Environment, handler, Learner } from "afterclick/worker";

// TypeScript 5.6 does not read Hono's own types, so this worker mounts the app by its fetch.
export { Learner };

const apps: readonly App[] = [app, createApp()];
export default {
  ...handler,
  async fetch(request: Request, env: Environment, context: ExecutionContext): Promise<Response> {
    const origins: string | undefined = env.AFTERCLICK_ALLOWED_ORIGINS;
    return origins === "" ? new Response("closed") : apps[0].fetch(request, env, context);
  },
} satisfies ExportedHandler<Environment>;
