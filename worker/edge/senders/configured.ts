// Senders that a deployment describes in AFTERCLICK_SENDERS, without code of their own.

import * as v from "valibot";
import { valueAt } from "../../domain/conversion/json-path.ts";
import { keyValuesOf, remembered } from "../../domain/ids/secret.ts";
import { rounded } from "../../domain/orders/line-amounts.ts";
import { malformed } from "../../environment.ts";
import { Problem, placed, unauthorised } from "../../protocol/problem.ts";
import { got } from "../../protocol/sentence.ts";
import { hookQuery, jsonPath } from "./hook-query.ts";
import { amount, currency, fieldsOf, id, linesOf, type Reading, type Sender, type Terms, toldBy } from "./sender.ts";
import { senderTime, UNITS, zone } from "./sender-time.ts";
import { bytesOf, isSigned } from "./signature.ts";

const NAME = "AFTERCLICK_SENDERS";

const { goal, model } = hookQuery.entries;
const sender = v.strictObject({
  header: v.pipe(v.string(), v.regex(/^[\w-]+$/, "expected the name of a header")),
  encoding: v.optional(v.picklist(["hex", "base64"]), "hex"),
  digest: v.optional(v.picklist(["sha256", "sha512", "sha1"]), "sha256"),
  prefix: v.optional(v.string(), ""),
  secret: v.string(),
  event: jsonPath,
  items: v.optional(jsonPath),
  line: v.optional(jsonPath),
  impressionId: v.optional(v.union([jsonPath, v.array(jsonPath)])),
  when: v.optional(v.strictObject({ path: jsonPath, values: v.array(v.union([v.string(), v.number(), v.boolean()])) })),
  refunds: v.optional(v.strictObject({ items: jsonPath, amount: jsonPath })),
  key: v.optional(jsonPath),
  action: v.optional(jsonPath),
  reward: jsonPath,
  currency: v.optional(jsonPath),
  timestamp: jsonPath,
  revised: v.optional(jsonPath),
  unit: v.optional(v.picklist(Object.keys(UNITS) as (keyof typeof UNITS)[])),
  zone: v.optional(zone),
  goal,
  model,
});
const configuration = v.record(v.pipe(v.string(), v.regex(/^[\w.-]{1,32}$/)), sender);
type Configuration = v.InferOutput<typeof sender>;

/** Senders by name. @throws {Problem} 500 if the variable is malformed. */
export const configured: (variable: string) => ReadonlyMap<string, Sender> = remembered((variable) => {
  try {
    const json: unknown = JSON.parse(variable);
    // Valibot takes a list as a record.
    if (Array.isArray(json)) throw new TypeError();
    const read = v.safeParse(configuration, json);
    if (!read.success) throw new Problem(500, read.issues.map(placeOf).join(", "));
    const senders = Object.entries(read.output);
    return new Map(senders.map(([name, own], i) => [name, placed(`sender ${i + 1}`, () => senderOf(name, own))]));
  } catch (error) {
    throw malformed(NAME, "a JSON object of senders by name", error instanceof Problem ? error.message : "the whole text");
  }
});

/** The place of a fault. A name that the configuration does not know may be a secret, so its number stands for it. */
function placeOf({ path }: v.BaseIssue<unknown>): string {
  const steps = path?.map(({ input, key }, depth) => {
    const name = String(key);
    return name in sender.entries ? name : `${depth === 0 ? "sender" : "field"} ${Object.keys(input as object).indexOf(name) + 1}`;
  });
  return steps?.join(": ") ?? "the whole text";
}

function senderOf(name: string, own: Configuration): Sender {
  const secrets = keyValuesOf("secret", own.secret);
  const { goal, model, key, action } = own;
  if ((model === undefined) !== (key === undefined)) throw new Problem(500, "expected both of model and key, or none");
  if (!own.impressionId && !key) throw new Problem(500, "expected impressionId, or model and key");
  return {
    options: { ...(goal && { goal }), ...(model && key && { model, key }), ...(action && { action }) },
    async verify({ headers, body }) {
      const given = headers.get(own.header) ?? "";
      const signature = given.startsWith(own.prefix) ? bytesOf(given.slice(own.prefix.length), own.encoding) : new Uint8Array();
      if (signature.length > 0 && (await isSigned(await body(), [signature], secrets, own.digest))) return;
      // A secret may stand in the place of the header or of the prefix.
      const expected = `${own.encoding} of the body's HMAC-${own.digest.toUpperCase()} by the secret of ${name}`;
      throw unauthorised(`expected ${expected}, with the header and the prefix that ${NAME} states`);
    },
    read: (payload, terms) => readingOf(name, own, payload, terms),
  };
}

function readingOf(name: string, own: Configuration, payload: unknown, { attribute }: Terms): Reading {
  let type = `${name} without an impression`;
  // A payload without the list reports something else.
  const listed = own.items === undefined ? [payload] : (valueAt(own.items, payload) ?? []);
  if (!Array.isArray(listed)) {
    return { type, told: { reason: "malformed", detail: `${own.items}: expected a list, got ${got(listed)}` } };
  }
  if (listed.length === 0) return { type };
  const paths = [own.impressionId ?? []].flat();
  const lines = listed.map((raw, place) => {
    return {
      raw,
      place,
      attribution: attribute(
        paths.map((path) => valueAt(path, payload, raw)),
        payload,
        raw,
      ),
    };
  });
  const isOurs = lines.some(({ attribution }) => attribution);
  if (isOurs) type = `${name} order`;
  const told = toldBy(() => {
    const order = field(own.event, id, payload);
    const time = senderTime(own);
    let [at, money] = [0, undefined as string | undefined];
    const read = linesOf(
      lines,
      (raw, place) => placedLine(own, place, () => (own.line ? field(own.line, id, payload, raw) : String(place))),
      (raw, place) =>
        placedLine(own, place, () => {
          const boughtAt = field(own.timestamp, time, payload, raw);
          const revised = own.revised ? field(own.revised, v.nullish(time), payload, raw) : undefined;
          const reward = field(own.reward, amount, payload, raw);
          money = own.currency ? field(own.currency, currency, payload, raw) : undefined;
          at = Math.max(at, revised ?? boughtAt);
          return { amount: reward, boughtAt };
        }),
    );
    // Each message of a sender without a list reports one line, and says nothing of the others.
    const names = own.items === undefined && own.line ? [`${order}:${read.lines[0]?.id}`] : [order];
    const state = own.when && !own.when.values.includes(valueAt(own.when.path, payload) as never) ? "cancelled" : "paid";
    const facts = {
      names,
      ...(money && { currency: { at, is: money } }),
      state: { at, is: state },
      lines: { at, is: read.lines },
    } as const;
    const { refunds } = own;
    if (!refunds) return { facts, lines: read.own };
    const list = valueAt(refunds.items, payload) ?? [];
    const back = (Array.isArray(list) ? list : []).map((each) => Math.abs(field(refunds.amount, amount, payload, each)));
    return { facts: { ...facts, refunded: { at, is: rounded(back.reduce((sum, each) => sum + each, 0)) } }, lines: read.own };
  });
  return { type, orderId: valueAt(own.event, payload), isOrder: true, isOurs, told };
}

/** Names the line in a refusal, if the payload has several. */
function placedLine<T>(own: Configuration, place: number, read: () => T): T {
  return own.items === undefined ? read() : placed(`${own.items}[${place}]`, read);
}

/** The value at a path. @throws {Problem} 422 naming the path. */
function field<Schema extends v.GenericSchema>(path: string, schema: Schema, payload: unknown, line?: unknown): v.InferOutput<Schema> {
  return placed(path, () => fieldsOf(schema, valueAt(path, payload, line)));
}
