import * as sdk from "afterclick";
import { app, type Environment, handler, Learner } from "afterclick/worker";
import { Hono } from "hono";
// @ts-expect-error: plain JavaScript, without types.
import { decide } from "../decide.js";

export { Learner };

const shop = new Hono<{ Bindings: Environment }>().get("/decide", async (c) => c.json(await decide(sdk))).route("/recommender", app);

export default { ...handler, fetch: shop.fetch };
