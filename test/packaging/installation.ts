import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, extname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { inject } from "vitest";

const PROJECTS = "test/packaging/projects";

/** Secrets of the workers that the tests start. */
export const secrets = {
  AFTERCLICK_SECRET_KEY: "sk_of-the-packaging-test",
  AFTERCLICK_PUBLISHABLE_KEY: "pk_of-the-packaging-test",
  AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  AFTERCLICK_TOKEN_KEY: "token-of-the-packaging-test",
  AFTERCLICK_JOIN_KEY: "join-key-of-the-packaging-test",
};

/** Packages of the projects besides ours: its peers, and types of platforms. */
const BESIDE = ["hono", "valibot", "@cloudflare/workers-types", "@types/node", "undici-types"];

/** Folders from which the package is built. */
const SOURCES = ["assembly", "build", "cli", "dist", "pages", "scripts", "src", "worker"];

export interface Installation {
  /** Folder of the projects, with the packed package installed. */
  readonly root: string;
  /** The packed package. */
  readonly tarball: string;
  remove(): Promise<void>;
}

interface Packed {
  readonly tarball?: string;
  readonly error?: string;
}

/** The path of the packed package. The first test file that asks packs it, and the others wait. */
export async function packed(): Promise<string> {
  const folder = inject("packaging");
  const result = join(folder, "result.json");
  const isFirst = await mkdir(join(folder, "repository")).then(
    () => true,
    () => false,
  );
  if (isFirst) {
    const outcome = await pack(folder).catch((error: Error): Packed => ({ error: error.message }));
    await writeFile(`${result}.part`, JSON.stringify(outcome));
    await rename(`${result}.part`, result);
  }
  while (!existsSync(result)) await sleep(100);
  const { tarball, error } = JSON.parse(await readFile(result, "utf8")) as Packed;
  if (tarball === undefined) throw new Error(`the package cannot be packed: ${error}`);
  return tarball;
}

/** Packs a copy of the repository, so that other tests' files stay unchanged. */
async function pack(folder: string): Promise<Packed> {
  const repository = join(folder, "repository");
  const files = (await readdir(".")).filter((name) => /\.(jsonc?|md)$|^LICENSE$/.test(name));
  // The documentation's site may be built meanwhile.
  const filter = (path: string): boolean => !/^build\/site/.test(path);
  for (const name of [...SOURCES, ...files]) await cp(name, join(repository, name), { recursive: true, filter });
  await symlink(resolve("node_modules"), join(repository, "node_modules"));
  return { tarball: run(repository, process.execPath, ["scripts/package.ts"]).trim() };
}

/** Installs the packed package in the projects. */
export async function install(): Promise<Installation> {
  const base = await mkdtemp(join(tmpdir(), "afterclick-installation-"));
  const root = join(base, "projects");
  await cp(PROJECTS, root, { recursive: true });
  const tarball = await packed();
  await installTarball(root, tarball);
  for (const name of BESIDE) {
    const link = join(root, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve("node_modules", name), link);
  }
  return { root, tarball, remove: () => rm(base, { recursive: true, force: true }) };
}

/** Copies one project to a folder of its own, with the work of every project, and installs the packed package. */
export async function installProject(base: string, name: string): Promise<string> {
  const folder = join(base, name);
  await cp(join(PROJECTS, name), folder, { recursive: true });
  await cp(join(PROJECTS, "decide.js"), join(folder, "decide.js"));
  if (existsSync(join(folder, "package-lock.json"))) run(folder, "npm", ["ci", "--prefer-offline", "--no-audit", "--no-fund"]);
  else await cp(join(PROJECTS, "package.json"), join(folder, "package.json"));
  await installTarball(folder, await packed());
  return folder;
}

/** Unpacks the packed package where npm would. `packaging.test.ts` compares that with npm's own installation. */
export async function installTarball(project: string, tarball: string): Promise<void> {
  const folder = join(project, "node_modules/afterclick");
  await mkdir(folder, { recursive: true });
  run(folder, "tar", ["-xzf", tarball, "--strip-components", "1"]);
}

/** Returns a program's standard output. If it fails, the exception holds its standard error. */
export function run(cwd: string, program: string, args: readonly string[]): string {
  const PATH = `${resolve("node_modules/.bin")}${delimiter}${process.env.PATH}`;
  return execFileSync(program, args, { cwd, encoding: "utf8", stdio: "pipe", env: { ...process.env, PATH } });
}

const TYPES: Readonly<Record<string, string>> = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

export interface SiteOptions {
  /** Media types by file extension. */
  readonly types?: Readonly<Record<string, string>>;
  /** Content-Security-Policy of every answer. */
  readonly policy?: string;
  /** A path that gets 404. */
  readonly missing?: string;
}

/** Serves files from the first directory whose prefix matches the path. */
export async function serve(directories: Readonly<Record<string, string>>, { types = TYPES, policy, missing }: SiteOptions = {}) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    const prefix = Object.keys(directories).find((each) => pathname.startsWith(each)) as string;
    const file = join(directories[prefix], pathname.slice(prefix.length));
    const body = pathname === missing ? undefined : await readFile(file).catch(() => undefined);
    const headers = { "content-type": types[extname(pathname)] ?? "text/plain", ...(policy && { "content-security-policy": policy }) };
    response.writeHead(body ? 200 : 404, headers).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** What a page decides, and its error messages. */
export async function decidedIn(browser: Browser, url: string): Promise<{ decided: unknown; complaints: string[] }> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
  await page.waitForFunction("globalThis.decided");
  const decided = await page.evaluate("globalThis.decided");
  await page.close();
  return { decided, complaints };
}
