import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Block, blocksOf, type Document, documents } from "../support/documents.ts";
import { secrets, startWorker, type TestWorker } from "./worker.ts";

const run = promisify(execFile);

/** Printed between the outputs of two blocks. */
const SEPARATOR = "--- end of block ---";

// The commands of a document run in one shell, as a reader runs them. An HTTP error ends the shell.
const PROLOGUE = `
set -e -o pipefail
curl() { command curl --fail-with-body --silent --show-error "$@"; }
npm() { [ "$1" = run ] && node "$ROOT/scripts/$2.ts" "\${@:4}"; }
`;

const all = await documents();
const documented = all.map((document) => ({ document, commands: commandsOf(document) })).filter(({ commands }) => commands.length > 0);

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

// Documents share one worker. docs/api.md creates the model `shop` that later ones use, so they keep their order.
describe("documents", { shuffle: false }, () => {
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
