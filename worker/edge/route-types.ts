import type { Hono } from "hono";
import type { Env, Schema } from "hono/types";
import { app } from "./app.ts";

function schemaOf<E extends Env, S extends Schema, P extends string>(_: Hono<E, S, P>): S {
  return {} as S;
}

/**
 * The routes of the worker: for each path and method the input, the status and the output. Nothing calls this function. The compiler
 * writes its type out in full, so the declarations of the typed client do not need the platform's types.
 */
export const routes = () => schemaOf(app);
