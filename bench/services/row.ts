import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";

// The least work of a decision by a learner, or of a conversion: parse the request, write one row in a Durable Object, answer.

export class Writer extends DurableObject {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS rows (seq INTEGER PRIMARY KEY, content TEXT NOT NULL)");
  }

  write(content: unknown): number {
    return this.ctx.storage.sql.exec<{ seq: number }>("INSERT INTO rows (content) VALUES (?) RETURNING seq", JSON.stringify(content)).one()
      .seq;
  }
}

const app = new Hono<{ Bindings: { readonly WRITER: DurableObjectNamespace<Writer> } }>();

app.on("POST", ["/v1/models/:model/recommendations", "/v1/conversions"], async (c) => {
  const { WRITER } = c.env;
  const row = await WRITER.get(WRITER.idFromName("bench")).write(await c.req.json());
  return c.json({ row }, 201);
});

export default app;
