// The output of `npm start`, once everything is built. It runs in a folder of its own, with its own secrets and state.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

const DEFAULT_PORT = 8787;
/** Files that a start writes. Tests make their own. */
const OWN = [".dev.vars", ".wrangler", ".git"];

let folder: string;
let taken: Server;
let started: ChildProcess | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-start-"));
  const names = (await readdir(".")).filter((name) => !OWN.includes(name));
  await Promise.all(names.map((name) => symlink(resolve(name), join(folder, name))));
  // Takes the default port, unless another process has it already.
  taken = createServer().listen(DEFAULT_PORT, "127.0.0.1");
  await Promise.race([once(taken, "listening"), once(taken, "error").catch(() => {})]);
});
afterEach(async () => {
  if (started && started.exitCode === null) {
    started.kill("SIGTERM");
    await once(started, "exit");
  }
  started = undefined;
});
afterAll(async () => {
  taken.close();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the worker. `out` grows as it prints. */
function start(...options: string[]): { readonly out: () => string; readonly ended: Promise<unknown> } {
  const { PORT: _, npm_lifecycle_event: __, ...env } = process.env;
  started = spawn(process.execPath, [resolve("scripts/start.ts"), ...options], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  for (const stream of [started.stdout, started.stderr]) stream?.on("data", (text) => (out += text));
  return { out: () => out, ended: once(started, "exit") };
}

async function until<Value>(look: () => Value | undefined | Promise<Value | undefined>): Promise<Value> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    if (Date.now() > deadline) throw new Error("did not happen within a minute");
    await sleep(20);
  }
}

it("names the port that it uses instead of a taken one, prints its address once it is ready, and nothing else", async () => {
  // While keys are rotated. The commands use the first value, and the worker takes both.
  process.env.AFTERCLICK_SECRET_KEY = "sk_new_0123456789abcdef sk_old_0123456789abcdef";
  const { out } = start();
  delete process.env.AFTERCLICK_SECRET_KEY;
  const port = await until(() => /^Port 8787 is in use; using (\d+) instead\.$/m.exec(out())?.[1]);
  const origin = `http://localhost:${port}`;
  const answers = () => fetch(`${origin}/healthz`).then(({ ok }) => ok || undefined);
  await until(() => answers().catch(() => undefined));
  await until(() => /Ctrl-C/.exec(out())?.[0]);
  const page = await fetch(`${origin}/`);
  expect(page.status).toBe(200);
  await page.text();
  for (const key of ["sk_new_0123456789abcdef", "sk_old_0123456789abcdef"]) {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${origin}/v1/models`, { headers });
    expect((await answer.json()) as object).toMatchObject({ models: [{ model: "demo" }] });
  }
  expect(out().trim().split(/\n\s*/)).toEqual([
    `Port 8787 is in use; using ${port} instead.`,
    `Shop         ${origin}/`,
    `Dashboard    ${origin}/#dashboard`,
    `Playground   ${origin}/playground/`,
    "Keys         .dev.vars",
    "State        .wrangler/state",
    "Ctrl-C stops the worker. Its state stays.",
  ]);
}, 120_000);

it("refuses a port that another process has for localhost by its other address", async () => {
  const other = createServer().listen(0, "::1");
  // Some machines have no IPv6.
  const [error] = await Promise.race([once(other, "listening"), once(other, "error")]);
  if (error) return;
  const { port } = other.address() as AddressInfo;
  const { out, ended } = start("--port", String(port));
  expect(await ended).toEqual([1, null]);
  expect(out()).toContain(`--port: expected a free port, but ${port} is in use`);
  other.close();
});

it("refuses a port that was asked for and is taken", async () => {
  const { out, ended } = start("--port", String(DEFAULT_PORT));
  expect(await ended).toEqual([1, null]);
  expect(out()).toMatch(/^--port: expected a free port, but 8787 is in use; stop the process/);
});
