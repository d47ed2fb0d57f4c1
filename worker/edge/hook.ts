import type { Context } from "hono";
import { valueAt } from "../domain/json-path.ts";
import type { Environment } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";
import type { HookQuery } from "../protocol/schema.ts";
import { type ConversionResult, takeNamed } from "./conversions.ts";
import type { Attribute, Sale } from "./senders/sender.ts";
import { senderOf } from "./senders/table.ts";

/** Most sales of one payload, as of a webhook. */
const MOST_SALES = 500;

const DEFAULT_GOAL = "purchase";

/** The answer to a message of a sender: a result for each sale, or the type of a message that reports none. */
export type Hooked = { readonly conversions: ConversionResult[] } | { readonly ignored: string };

/**
 * Verifies a message of a sender and takes its sales as conversions.
 *
 * @throws {Problem} 404 without such a sender, 401 if the signature is wrong, 400 and 422 if the payload is, and 422 if all sales are
 * refused.
 */
export async function takeHook(c: Context<{ Bindings: Environment }>, name: string, query: HookQuery): Promise<Hooked> {
  const { env, req } = c;
  const sender = senderOf(env, name);
  const { headers } = req.raw;
  await sender.verify({ headers, body: () => req.arrayBuffer(), now: Date.now() });
  const { goal = DEFAULT_GOAL, ...options } = { ...query, ...sender.options };
  const { type, sales } = sender.read(await payloadOf(req), headers, attributionBy(options));
  if (sales.length > MOST_SALES) throw new Problem(422, `expected at most ${MOST_SALES} lines with an impression, got ${sales.length}`);
  if (sales.length === 0) {
    console.info(JSON.stringify({ sender: name, ignored: type }));
    return { ignored: type };
  }
  const conversions = await takeNamed(
    env,
    sales.map((sale) => namedConversion(goal, sale)),
  );
  const [first] = conversions;
  if (conversions.every(({ status }) => status === "refused")) throw new Problem(422, first.detail ?? "all sales were refused");
  return { conversions };
}

async function payloadOf(req: Context["req"]): Promise<unknown> {
  try {
    return await req.json();
  } catch {
    throw new Problem(400, "the body is not JSON");
  }
}

function namedConversion(goal: string, { attribution, event, at, reward, currency }: Sale) {
  const item = { ...attribution, goal, timestamp: at, reward, ...(currency && { currency }) };
  return { item, outcome: { goal, event, reward, at, ...(currency && { currency }) } };
}

/** @throws {Problem} 422 if only one of model and key is given. */
function attributionBy({ model, key: path, action: actionPath }: HookQuery): Attribute {
  if ((model === undefined) !== (path === undefined)) throw new Problem(422, "expected both of model and key, or none");
  return (impressionId, document, line) => {
    if (impressionId) return { impressionId };
    const key = model && path && textOf(valueAt(path, document, line));
    if (!key) return undefined;
    const action = actionPath && textOf(valueAt(actionPath, document, line));
    return { model, key, byPage: false, ...(action && { action }) };
  };
}

/** A text or number of at most 256 characters. */
function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  return text.length <= 256 ? text || undefined : undefined;
}
