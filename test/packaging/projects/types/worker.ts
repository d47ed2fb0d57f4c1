import { afterclick } from "afterclick/client";
import { type App, app, type Environment, handler, Learner } from "afterclick/worker";
import { Hono } from "hono";

export { Learner };
export const mounted = new Hono<{ Bindings: Environment }>().route("/recommender", app);
export default { ...handler, fetch: mounted.fetch } satisfies ExportedHandler<Environment>;

export async function firstOf(model: string): Promise<string | undefined> {
  const { v1 } = afterclick("https://worker.example", { key: "pk" });
  const answer = await v1.models[":model"].recommendations.$post({ param: { model }, json: { limit: 1 } });
  if (!answer.ok) throw new Error((await answer.json()).detail);
  const { actions } = await answer.json();
  const id: string = actions[0].id;
  // @ts-expect-error: a score is a number.
  const score: string = actions[0].score;
  return id + score;
}
export type Routes = keyof (App extends { readonly get: unknown } ? App : never);
