// `/v1/models/:model/events`: exports the log of a model as it is read, and imports one line by line.

import { Hono } from "hono";
import * as v from "valibot";
import { waitingFor } from "../../../domain/conversion/event.ts";
import { receipted } from "../../../domain/ids/receipt.ts";
import { shardName } from "../../../domain/ids/shard.ts";
import { CLOCK_TOLERANCE_MS } from "../../../domain/ids/token.ts";
import { firstIdAt, shownAtOf } from "../../../domain/ids/uuid.ts";
import { checkedLine } from "../../../domain/log/checked-line.ts";
import type { EventLine, MarkContent } from "../../../domain/log/log-line.ts";
import { exportedLine } from "../../../domain/log/log-row.ts";
import { type PastItem, pastLine } from "../../../domain/log/past-line.ts";
import type { Environment } from "../../../environment.ts";
import { imported } from "../../../protocol/answers.ts";
import { formed } from "../../../protocol/forms.ts";
import { HOUR_MS, type Operations, ofModel, withBody } from "../../../protocol/operation.ts";
import { plainId } from "../../../protocol/plain-id.ts";
import { located, Problem } from "../../../protocol/problem.ts";
import { bodyBy, valid } from "../../../protocol/validation.ts";
import { learner } from "../../../rpc/learner-client.ts";
import type { LogStart, PastConversion, PastImpression, PastLine, PastModel } from "../../../rpc/message.ts";
import { secretKey } from "../../access/api-keys.ts";
import { bodyLimit, MAX_LARGE_BYTES } from "../../access/body-limit.ts";
import { modelPath } from "../../model-path.ts";
import { type RegistrationRequest, registrationOf, registrationTo } from "../../registration.ts";

const MOST_LINES = 20_000;
/** Reading JSON takes up to 30 times its length, so a line may be as long as any other body. */
const MOST_LINE_CHARACTERS = 1024 * 1024;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const logQuery = v.object({
  after: v.optional(
    v.pipe(
      formed(/^\d{1,15}$/, "a whole number"),
      v.transform((digits) => Number(digits)),
    ),
    "0",
  ),
});

export const events = new Hono()
  .use("/v1/models/:model/events", bodyLimit(MAX_LARGE_BYTES))
  .get("/v1/models/:model/events", secretKey, modelPath, valid("query", logQuery), async (c) => {
    const { model } = c.req.valid("param");
    const lines = await exported(c.env, model, c.req.valid("query").after);
    return c.body(lines, 200, { "content-type": "application/x-ndjson" });
  })
  .post("/v1/models/:model/events", secretKey, modelPath, async (c) => {
    const { model } = c.req.valid("param");
    const lines = await pastLines(await bodyBy(() => c.req.text()), registrationTo(c.env, model, false));
    return c.json(await learner(c.env, model, (stub) => stub.importLog(lines)), 200);
  });

/**
 * The event log of a model as JSON lines, each with a receipt. The first line describes the model. The others are the rows after
 * `after`, in order, up to the version in the first line. A row that gets another number meanwhile, such as a deferred impression that was
 * shown, is left out. Then a last line, `end`, corrects the number of lines in the first one.
 * @throws {Problem} 404 if there is no such model, 422 if a model of several shards has no such beginning.
 */
async function exported(env: Environment, model: string, after: number): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let last = "";
  const written = (values: readonly object[]) => {
    const texts = values.map((value) => {
      const { text, receipt } = receipted(value, last);
      last = receipt;
      return `${text}\n`;
    });
    return encoder.encode(texts.join(""));
  };
  const start = await learner(env, model, (stub) => stub.startLog(after));
  const pages = pagesOf(env, model, start);
  let sent = 0;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(written([{ type: "model", ...start.head }]));
    },
    async pull(controller) {
      const { done, value } = await pages.next();
      if (!done) {
        sent += value.length;
        return controller.enqueue(written(value));
      }
      if (sent !== start.head.lines) controller.enqueue(written([{ type: "end", lines: sent }]));
      controller.close();
    },
  });
}

/**
 * The lines of a log, page by page: the rows of shard 0 in order and, before each merged snapshot, the rows of the other shards that
 * it includes and no earlier one did.
 */
async function* pagesOf(
  env: Environment,
  model: string,
  { spans, rows: first }: Pick<LogStart, "spans" | "rows">,
): AsyncGenerator<readonly EventLine[]> {
  const last = spans.map(({ after }) => after);
  const page = async (shard: number, upTo: number) => {
    const span = { after: last[shard], upTo };
    return learner(env, shardName(model, shard), (stub) => stub.log(span));
  };
  for (let rows = first; rows.length > 0; rows = await page(0, spans[0].upTo)) {
    let lines: EventLine[] = [];
    for (const row of rows) {
      const included = row.type === "mark" && row.mark === "merged" ? (JSON.parse(row.content) as MarkContent<"merged">).shards : [];
      for (let shard = 1; shard < included.length; shard++) {
        while (last[shard] < included[shard]) {
          const others = await page(shard, included[shard]);
          if (lines.length > 0) yield lines;
          lines = others.map((other) => ({ ...exportedLine(other), shard }));
          last[shard] = others.at(-1)?.seq ?? included[shard];
        }
      }
      lines.push(exportedLine(row));
    }
    yield lines;
    last[0] = rows[rows.length - 1].seq;
  }
}

/**
 * Reads a past log: an export, or lines that a shop wrote, whose conversions name impressions by the shop's own ids.
 * @throws {Problem} 400 or 422 naming the line.
 */
export async function pastLines(text: string, request: RegistrationRequest): Promise<PastLine[]> {
  if (/[\0\uFFFD]/.test(text.slice(0, 2))) throw new Problem(400, "expected a log in UTF-8, got UTF-16 or other bytes: save it as UTF-8");
  const texts = text.trimEnd().split(/\r\n|\r|\n/, MOST_LINES + 1);
  if (texts.length > MOST_LINES) throw new Problem(413, `a log may have ${MOST_LINES} lines at a time`);
  const reading = { ...request, uuids: new Map<string, string>() };
  const lines: PastLine[] = [];
  for (const [i, json] of texts.entries()) {
    if (json.trim() === "") continue;
    try {
      // Files that were put together have several byte order marks.
      const line = await pastLineOf(checkedLine(pastLine, parseJson(json.replace(/^\uFEFF/, ""))), reading);
      if (line) lines.push({ ...line, line: i + 1 });
    } catch (error) {
      throw located(error, `line ${i + 1}`);
    }
  }
  return lines;
}

interface Reading extends RegistrationRequest {
  /** UUIDs of the impressions so far, by their ids in the log. */
  readonly uuids: Map<string, string>;
}

async function pastLineOf(item: PastItem, reading: Reading): Promise<PastModel | PastImpression | PastConversion | undefined> {
  if (item.type === "model") return { type: "model", config: item.config };
  if (item.type === "impression") return pastImpression(item, reading);
  return item.type === "conversion" ? pastConversion(item, reading) : undefined;
}

async function pastImpression(item: Extract<PastItem, { type: "impression" }>, reading: Reading): Promise<PastImpression> {
  const { id, shownAt, features, hashes, arm, state, byPage, sampling, decision } = item;
  if (UUID.test(id) && shownAtOf(id) !== shownAt) throw new Problem(422, `shownAt: expected the time of the id, ${shownAtOf(id)}`);
  const [probability, place] = [item.probability ?? decision?.probability, item.place ?? decision?.place];
  const given = { ...item, context: item.context ?? undefined, probability, place };
  const shown = UUID.test(id)
    ? { ...(await registrationOf({ ...given, id: undefined }, reading)), id }
    : await registrationOf(given, reading);
  reading.uuids.set(id, shown.id);
  // A log has the hashes of the keys that counted.
  const keys = [...shown.keys.backend, ...hashes.map((hash) => [hash])];
  return { type: "impression", ...shown, keys: { backend: keys, page: keys }, features, arm, state, byPage, sampling };
}

function pastConversion(item: Extract<PastItem, { type: "conversion" }>, { uuids }: Reading): PastConversion {
  const { impression: id, goal, event = `at ${firstIdAt(item.at)}`, reward, restates, at, status, hash, action } = item;
  // An orphan with a join key has the name under which it waits.
  const impression = uuids.get(id) ?? (UUID.test(id) || (hash !== undefined && id === waitingFor(hash, at)) ? id : undefined);
  if (!impression) throw new Problem(422, `impression: ${id} is not among the lines before`);
  if (at > Date.now() + CLOCK_TOLERANCE_MS) throw new Problem(422, "at: lies in the future");
  if (at < shownAtOf(impression) - CLOCK_TOLERANCE_MS) throw new Problem(422, "at: lies before the impression was shown");
  const outcome = { goal, event, reward, at, ...(restates && { restates }) };
  return {
    type: "conversion",
    event: { impression, ...outcome, ...(hash !== undefined && { key: hash, action: action === null ? null : plainId(action) }) },
    status,
  };
}

function parseJson(text: string): unknown {
  if (text.length > MOST_LINE_CHARACTERS) throw new Problem(413, `a line may have ${MOST_LINE_CHARACTERS} characters, got ${text.length}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(400, "is not JSON");
  }
}

export const operations = (): Operations => ({
  "GET /v1/models/:model/events": {
    id: "exportEvents",
    summary: "Export the event log",
    description:
      "A model of several shards is one log: before each mark `merged` come the lines of the other shards that it includes, each with its `shard`. Its exports start with 0 or after such a mark.",
    query: logQuery,
    answers: {
      200: { description: "JSON lines, each with a receipt: first the model, then its events in order.", media: "application/x-ndjson" },
    },
    problems: [400, ...ofModel],
  },
  "POST /v1/models/:model/events": {
    id: "importEvents",
    summary: "Import a past log",
    description:
      "At most 20,000 lines: impressions in order of time, each before its conversions. If a line is refused, none is taken. An export is a valid log.",
    body: { PastLine: pastLine },
    lines: true,
    examples: ({ now }) => ({
      log: [
        { type: "impression", id: "order-page-1", action: "hat", context: { country: "ES" }, shownAt: now - 2 * HOUR_MS },
        { type: "conversion", impression: "order-page-1", reward: 1, at: now - HOUR_MS },
      ]
        .map((line) => JSON.stringify(line))
        .join("\n"),
    }),
    answers: { 200: { description: "Numbers of taken lines.", schema: { Imported: imported } } },
    problems: [...withBody, ...ofModel, 429],
  },
});
