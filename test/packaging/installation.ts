import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, extname, join, resolve } from "node:path";

/** What projects have beside the package: its peers, and what they are built with. */
const BESIDE = ["hono", "valibot", "@cloudflare/workers-types"];

/** The projects in a directory of their own, with the packed package installed; to be removed by who asked for it. */
export async function install(): Promise<string> {
  execFileSync(process.execPath, ["scripts/package.ts"]);
  const root = await mkdtemp(join(tmpdir(), "afterclick-packaging-"));
  await cp("test/packaging/projects", root, { recursive: true });
  const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", root], { encoding: "utf8" });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  execFileSync("npm", ["install", "--prefix", root, "--offline", "--no-audit", "--no-fund", "--no-package-lock", join(root, filename)]);
  for (const name of BESIDE) {
    const link = join(root, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve("node_modules", name), link);
  }
  return root;
}

export const uninstall = (root: string): Promise<void> => rm(root, { recursive: true, force: true });

const TYPES: Readonly<Record<string, string>> = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

export interface SiteOptions {
  /** Media types by a file's ending. */
  readonly types?: Readonly<Record<string, string>>;
  /** The Content-Security-Policy of every answer. */
  readonly policy?: string;
  /** A path at which nothing is. */
  readonly missing?: string;
}

/** Serves files: those of the first directory whose prefix a path has. */
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
