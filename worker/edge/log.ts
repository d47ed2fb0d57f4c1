import { waitingFor } from "../domain/event.ts";
import { type LogRow, logLine } from "../domain/log-line.ts";
import { receipted } from "../domain/receipt.ts";
import { CLOCK_TOLERANCE_MS } from "../domain/token.ts";
import { firstIdAt, shownAtOf } from "../domain/uuid.ts";
import type { Environment } from "../environment.ts";
import { located, Problem } from "../protocol/problem.ts";
import { type PastItem, pastLine } from "../protocol/schema.ts";
import { parsed } from "../protocol/validation.ts";
import { learner } from "../rpc/learner-client.ts";
import type { PastConversion, PastImpression, PastLine } from "../rpc/message.ts";
import { type RegistrationRequest, registrationOf } from "./registration.ts";

const MOST_LINES = 20_000;
/** Reading JSON takes up to 30 times its length, so a line may be as long as any other body. */
const MOST_LINE_CHARACTERS = 1024 * 1024;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The event log of a model as JSON lines, each with a receipt. The first line describes the model. The others are the rows after
 * `after`, in order, up to the version in the first line.
 * @throws {Problem} 404 if there is no such model.
 */
export async function exported(env: Environment, model: string, after: number): Promise<ReadableStream<Uint8Array>> {
  const page = (seq: number) => learner(env, model, (stub) => stub.log(seq));
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
  const first = await page(after);
  const upTo = (rows: readonly LogRow[]) => rows.filter(({ seq }) => seq <= first.model.modelVersion);
  let lines = upTo(first.lines);
  return new ReadableStream({
    start(controller) {
      controller.enqueue(written([{ type: "model", ...first.model }]));
    },
    async pull(controller) {
      if (lines.length === 0) return controller.close();
      controller.enqueue(written(lines.map(logLine)));
      lines = upTo((await page(lines[lines.length - 1].seq)).lines);
    },
  });
}

/**
 * Reads a past log: an export, or lines that a shop wrote, whose conversions name impressions by the shop's own ids.
 * @throws {Problem} 400 or 422 naming the line.
 */
export async function pastLines(text: string, request: RegistrationRequest): Promise<PastLine[]> {
  const texts = text.trimEnd().split("\n", MOST_LINES + 1);
  if (texts.length > MOST_LINES) throw new Problem(413, `a log may have ${MOST_LINES} lines at a time`);
  const reading = { ...request, uuids: new Map<string, string>() };
  const lines: PastLine[] = [];
  for (const [i, json] of texts.entries()) {
    if (json.trim() === "") continue;
    try {
      const line = await pastLineOf(parsed(pastLine, parseJson(json)), reading);
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

async function pastLineOf(item: PastItem, reading: Reading): Promise<PastImpression | PastConversion | undefined> {
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
  return { type: "conversion", event: { impression, ...outcome, ...(hash !== undefined && { key: hash, action }) }, status };
}

function parseJson(text: string): unknown {
  if (text.length > MOST_LINE_CHARACTERS) throw new Problem(413, `a line may have ${MOST_LINE_CHARACTERS} characters, got ${text.length}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(400, "is not JSON");
  }
}
