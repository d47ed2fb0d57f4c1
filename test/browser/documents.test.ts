import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseEnv, promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness } from "wrangler";
import { examine } from "../../cli/doctor/examination.ts";
import { type Block, blocksOf, type Document, documents } from "../support/documents.ts";
import { secrets, startWorker, type TestWorker } from "./worker.ts";

const run = promisify(execFile);

/** Printed between the outputs of two blocks. */
const SEPARATOR = "--- end of block ---";

// The commands of a document run in one shell, as a reader runs them. An HTTP error ends the shell.
const PROLOGUE = `
set -e -o pipefail
curl() { command curl --fail-with-body --silent --show-error "$@"; }
npm() { [ "$1" = run ] && node "$ROOT/cli/afterclick.ts" "$2" "\${@:4}"; }
`;

const all = await documents();
/** These commands need pages too: `hour.test.ts` plays them. */
const HOUR = "docs/hour.md";
const documented = all
  .filter(({ path }) => path !== HOUR)
  .map((document) => ({ document, commands: commandsOf(document) }))
  .filter(({ commands }) => commands.length > 0);

/** A block of commands, with the JSON that the document says it prints. */
interface Commands extends Block {
  readonly printed?: string;
}

/** The shell blocks of a document that needs a worker, without those that install or start something. */
function commandsOf(document: Document): Commands[] {
  const blocks = blocksOf(document);
  if (!blocks.some(({ language, code }) => language === "sh" && /^curl /m.test(code))) return [];
  return blocks.flatMap((block, i) => {
    if (block.language !== "sh" || /^(npm ci|npm start|npx )/m.test(block.code)) return [];
    const next = blocks[i + 1];
    return [{ ...block, printed: next?.language === "json" ? next.code : undefined }];
  });
}

let worker: TestWorker;
let folder: string;
beforeAll(async () => {
  worker = await startWorker("false");
  folder = await mkdtemp(join(tmpdir(), "afterclick-documents-"));
  const lines = Object.entries(secrets).map(([name, value]) => `${name}="${value}"\n`);
  await writeFile(join(folder, ".dev.vars"), lines.join(""));
});
afterAll(async () => {
  await worker?.harness.close();
  await rm(folder, { recursive: true, force: true });
});

// Documents share one worker, from which the models of each are deleted: every page works by itself.
describe("documents", () => {
  afterEach(async () => {
    const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}` };
    const { models } = (await (await fetch(new URL("/v1/models", worker.url), { headers })).json()) as { models: { model: string }[] };
    for (const { model } of models) await fetch(new URL(`/v1/models/${model}`, worker.url), { method: "DELETE", headers });
  });

  it.each(documented.map(({ document, commands }) => [document.path, commands] as const))(
    "%s: its commands print what it says",
    async (path, commands) => {
      const script = commands.map(({ code }) => `${code}echo; echo "${SEPARATOR}"\n`).join("");
      const local = (PROLOGUE + script).replaceAll(/(http:\/\/)?localhost:8787/g, worker.url.origin);
      const { stdout } = await run("bash", ["-c", local], { cwd: folder, env: { ...process.env, ROOT: resolve(".") } });
      const outputs = stdout.split(SEPARATOR);
      commands.forEach(({ printed, line }, i) => {
        if (printed !== undefined) expect(JSON.parse(outputs[i]), `${path}:${line}`).toEqual(stated(JSON.parse(printed)));
      });
    },
  );
});

describe("the relay of docs/browser.md", () => {
  const call = async <Answer>(method: string, path: string, key: string, json?: unknown): Promise<Answer> => {
    const body = json === undefined ? undefined : JSON.stringify(json);
    return (await (await fetch(new URL(path, worker.url), { method, headers: { authorization: `Bearer ${key}` }, body })).json()) as Answer;
  };
  const countsOf = async () => (await call<{ counts: object }>("GET", "/v1/models/relayed", secrets.AFTERCLICK_SECRET_KEY)).counts;

  it("forwards what the shop's records confirm, once, and passes the worker's refusal on", async () => {
    const [{ code }] = blocksOf(all.find(({ path }) => path === "docs/browser.md") as Document).filter(({ code }) =>
      code.includes("new Webhook("),
    );
    await mkdir("build", { recursive: true });
    const place = resolve(await mkdtemp("build/relay-"));
    await writeFile(
      join(place, "orders.ts"),
      "export const isTrue = async (_: Request, data: { key: string }) => data.key !== 'invented';\n",
    );
    for (const name of ["relay.ts", "stranger.ts"]) await writeFile(join(place, name), code);
    const relayWith = async (
      name: string,
      secret: string,
    ): Promise<{ request: (path: string, init: RequestInit) => Promise<Response> }> => {
      Object.assign(process.env, { AFTERCLICK_URL: worker.url.origin, AFTERCLICK_WEBHOOK_SECRET: secret });
      return (await import(join(place, name))).app;
    };
    await call("PUT", "/v1/models/relayed", secrets.AFTERCLICK_SECRET_KEY, { window: { ms: 3_600_000 }, local: true, serving: "edge" });
    await call("PUT", "/v1/models/relayed/actions", secrets.AFTERCLICK_SECRET_KEY, { actions: [{ id: "hat" }] });
    const shown = [{ id: "page-1", action: "hat", shownAt: Date.now(), keys: ["page-1"], probability: 1 }];
    const registered = await call<{ impressions: object[] }>(
      "POST",
      "/v1/models/relayed/impressions",
      secrets.AFTERCLICK_PUBLISHABLE_KEY,
      shown,
    );
    expect(registered.impressions).toMatchObject([{ status: "registered" }]);
    // As a page sends them.
    const letters = ["page-1", "invented"].map((key) => {
      const data = { model: "relayed", key, byPage: true, goal: "purchase", reward: 1 };
      return { id: `event-of-${key}`, body: { type: "conversion", timestamp: Date.now(), data } };
    });
    const request = { method: "POST", body: JSON.stringify(letters) };
    const relay = await relayWith("relay.ts", secrets.AFTERCLICK_WEBHOOK_SECRET);
    for (const time of [1, 2]) {
      expect((await relay.request("/conversions", request)).status).toBe(204);
      expect(await countsOf()).toMatchObject({ converted: 1, applied: 1, orphan: 0, duplicate: time - 1 });
    }
    const stranger = await relayWith("stranger.ts", `whsec_${btoa("a secret of another worker")}`);
    expect((await stranger.request("/conversions", request)).status).toBe(401);
    await rm(place, { recursive: true });
  });
});

it("makes keys that a worker takes, by the commands of docs/operations.md", async () => {
  const operations = all.find(({ path }) => path === "docs/operations.md") as Document;
  const { code } = blocksOf(operations).find(({ code }) => code.includes("openssl rand")) as Block;
  const made = parseEnv((await run("bash", ["-c", code])).stdout) as typeof secrets;
  expect(Object.keys(made).toSorted()).toEqual(Object.keys(secrets).toSorted());
  const harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets: made }] });
  const { url } = await harness.listen();
  const finding: Record<string, string> = {};
  const keys = { find: (name: string) => made[name as keyof typeof made], webhookSecret: () => made.AFTERCLICK_WEBHOOK_SECRET };
  const examined = examine({ base: url, keys: { ...keys, get: keys.find }, model: "made", origins: [] });
  for await (const { check, state } of examined) finding[check] = state;
  await harness.close();
  const checks = ["secret key", "recommendation", "webhook", "learning", "publishable key"];
  expect(checks.map((check) => finding[check])).toEqual(checks.map(() => "ok"));
});

it("finds the documents with commands", () => {
  const paths = documented.map(({ document }) => document.path);
  expect(paths).toEqual(expect.arrayContaining(["docs/api.md", "docs/log.md", "docs/tutorial.md"]));
});

/** A matcher of what a document states. A document may leave out fields, write "..." for a value, and round a number. */
function stated(value: unknown): unknown {
  if (value === "...") return expect.anything();
  const [, decimals] = typeof value === "number" ? (/\.(\d+)$/.exec(String(value)) ?? []) : [];
  if (decimals) return expect.closeTo(value as number, decimals.length);
  if (Array.isArray(value)) return value.map(stated);
  if (value === null || typeof value !== "object") return value;
  return expect.objectContaining(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, stated(inner)])));
}
