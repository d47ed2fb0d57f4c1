import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build as esbuild } from "esbuild";
import type { Browser } from "playwright-core";
import { build as viteBuild, createServer as viteServer } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import webpack, { type Configuration } from "webpack";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { decidedIn, installProject, run, serve } from "./installation.ts";

// Bundles one project by each bundler without configuration. Each bundle must decide like the unbundled project, to the bit.

let base: string;
let project: string;
let unbundled: unknown;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "afterclick-bundlers-"));
  project = await installProject(base, "bundled");
  unbundled = decidedByServer(join(project, "server.js"));
});
afterAll(() => rm(base, { recursive: true, force: true }));

/** What a server decides that lies in a folder without packages, unless the project's own is given. */
const decidedByServer = (file: string): unknown => JSON.parse(run(base, process.execPath, [file]));

/** Bundles by webpack, and refuses its warnings. */
async function webpackBuild(configuration: Configuration): Promise<void> {
  const compiler = webpack({ context: project, mode: "production", ...configuration });
  const stats = await promisify(compiler.run.bind(compiler))();
  await promisify(compiler.close.bind(compiler))();
  expect(stats?.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] });
}

describe("a server", () => {
  it("decides where its bundle by webpack is moved to", async () => {
    const path = join(base, "moved-webpack");
    await webpackBuild({ target: "node", entry: "./server.js", output: { path, filename: "server.cjs" } });
    expect(decidedByServer(join(path, "server.cjs"))).toEqual(unbundled);
  });

  it("decides as Vite builds it, with the package beside it", async () => {
    await viteBuild({ root: project, logLevel: "error", build: { ssr: "server.js", outDir: "dist-server" } });
    expect(decidedByServer(join(project, "dist-server/server.js"))).toEqual(unbundled);
  });

  it("decides where Vite's build with all packages inside is moved to", async () => {
    const outDir = join(base, "moved-vite");
    await viteBuild({ root: project, logLevel: "error", build: { ssr: "server.js", outDir }, ssr: { noExternal: true } });
    expect(decidedByServer(join(outDir, "server.js"))).toEqual(unbundled);
  });

  it.each<[string, true | string[]]>([
    ["inside", true],
    ["beside it", []],
  ])("decides in Vite's development server, with the package %s", async (_, noExternal) => {
    const server = await viteServer({ root: project, logLevel: "error", ssr: { noExternal }, server: { middlewareMode: true } });
    try {
      const { decide } = await server.ssrLoadModule("/decide.js");
      expect(await decide(await server.ssrLoadModule("afterclick"))).toEqual(unbundled);
    } finally {
      await server.close();
    }
  });

  it.each(["cjs", "esm"] as const)("decides where its bundle by esbuild is moved to: %s", async (format) => {
    const outfile = join(base, `moved-esbuild/server.${format === "cjs" ? "cjs" : "mjs"}`);
    await esbuild({ entryPoints: [join(project, "server.js")], outfile, bundle: true, platform: "node", format });
    expect(decidedByServer(outfile)).toEqual(unbundled);
  });
});

describeInChromium("a page", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  /** What the page of a folder decides. */
  async function decidedByPage(folder: string) {
    const site = await serve({ "/": folder });
    try {
      return await decidedIn(browser, `${site.url}/index.html`);
    } finally {
      site.close();
    }
  }

  it("decides as webpack builds it", async () => {
    const path = join(base, "page-webpack");
    await webpackBuild({ target: "web", entry: "./page.js", output: { path, filename: "page.js" } });
    await cp(join(project, "index.html"), join(path, "index.html"));
    expect(await decidedByPage(path)).toEqual({ decided: unbundled, complaints: [] });
  });

  describe("as esbuild bundles it by default, in a folder of its own beside the core", () => {
    let path: string;
    const pageOf = (body: string) => `<!doctype html><title>classic</title><link rel="icon" href="data:,">${body}`;
    const worker = "globalThis.afterclick.decide().then((decided) => postMessage(decided), ({ code }) => postMessage({ code }))";
    const pages = {
      script: '<script src="assets/page.js"></script>',
      "script that another one adds": `<script>
        document.head.append(Object.assign(document.createElement("script"), { src: "assets/page.js" }));
      </script>`,
      "classic worker": `<script>
        new Worker("assets/worker.js").onmessage = ({ data }) => { globalThis.decided = data; };
      </script>`,
      "classic service worker": `<script>
        navigator.serviceWorker.onmessage = ({ data }) => { globalThis.decided = data; };
        navigator.serviceWorker.register("assets/service-worker.js").then(async (registration) => {
          const found = registration.installing ?? registration.active;
          while (!registration.active) await new Promise((later) => setTimeout(later, 20));
          found.postMessage("decide");
        });
      </script>`,
    };

    beforeAll(async () => {
      path = join(base, "page-esbuild");
      const assets = join(path, "assets");
      await esbuild({
        entryPoints: [join(project, "page.js"), join(project, "classic.js")],
        outdir: assets,
        bundle: true,
        logLevel: "error",
      });
      await cp(join(project, "node_modules/afterclick/dist/core.wasm"), join(assets, "core.wasm"));
      await writeFile(join(assets, "worker.js"), `importScripts("classic.js"); ${worker}`);
      await writeFile(
        join(assets, "service-worker.js"),
        `importScripts("classic.js"); onmessage = ({ source }) => { const postMessage = (data) => source.postMessage(data); ${worker} };`,
      );
      for (const [name, body] of Object.entries(pages)) await writeFile(join(path, `${name.replaceAll(" ", "-")}.html`), pageOf(body));
    });

    it.each(Object.keys(pages))("decides in a %s", async (name) => {
      const site = await serve({ "/": path });
      try {
        expect((await decidedIn(browser, `${site.url}/${name.replaceAll(" ", "-")}.html`)).decided).toEqual(unbundled);
      } finally {
        site.close();
      }
    });
  });

  it("decides as Vite builds it", async () => {
    await viteBuild({ root: project, logLevel: "error" });
    expect(await decidedByPage(join(project, "dist"))).toEqual({ decided: unbundled, complaints: [] });
  });

  it("decides in Vite's development server", async () => {
    const server = await viteServer({ root: project, logLevel: "error", server: { host: "127.0.0.1", port: 0, hmr: false } });
    await server.listen();
    try {
      const { decided } = await decidedIn(browser, server.resolvedUrls?.local[0] as string);
      expect(decided).toEqual(unbundled);
    } finally {
      await server.close();
    }
  });
});
