import { cp, mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build as esbuild } from "esbuild";
import type { Browser } from "playwright-core";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { decidedIn, type Installation, install, run, type SiteOptions, secrets, serve } from "./installation.ts";

// Installs the packed package in small projects. Each must decide like Node, to the bit.

let installation: Installation;
let root: string;
let inNode: { readonly own: object; readonly slim: object; readonly linear: object; readonly missing: string; readonly refused: string };
const contents = () => join(root, "node_modules/afterclick/dist");

beforeAll(async () => {
  installation = await install();
  ({ root } = installation);
  inNode = JSON.parse(run(root, process.execPath, ["node/main.js"]));
});
afterAll(() => installation?.remove());

/** Bundles a module of the projects' folder. */
async function bundled(contents: string): Promise<Uint8Array> {
  const { outputFiles } = await esbuild({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    conditions: ["browser"],
    external: ["*.wasm"],
  });
  return outputFiles[0].contents;
}

describe("the package", () => {
  it("decides in Node with its own core, and without a core of its own says what it misses", () => {
    expect(inNode.own).toMatchObject({ digest: expect.stringMatching(/^[0-9a-f]{16}$/), chosen: expect.stringMatching(/^[0-3]{20}$/) });
    expect(inNode.slim).toEqual(inNode.own);
    expect(inNode.linear).toEqual(inNode.own);
    expect(inNode.missing).toBe("linear-core");
    expect(inNode.refused).toMatch(/^module: expected a compiled core\.wasm/);
  });

  it("holds what its manifest names, with metadata to be published by", async () => {
    const manifest = JSON.parse(await readFile(join(root, "node_modules/afterclick/package.json"), "utf8"));
    const named = Object.values(manifest.exports as object).flatMap((entry) => (typeof entry === "string" ? entry : Object.values(entry)));
    for (const file of named) await readFile(join(root, "node_modules/afterclick", file as string));
    expect(named.length).toBeGreaterThan(10);
    expect(Object.keys(manifest.exports["."])).toEqual(["types", "react-native", "workerd", "edge-light", "node", "browser", "default"]);
    expect(manifest).toMatchObject({ type: "module", sideEffects: false, publishConfig: { provenance: true }, license: "MIT" });
    expect(manifest.repository.url).toMatch(/^git\+https:/);
    expect((await publint({ pkgDir: join(root, "node_modules/afterclick"), strict: true })).messages).toEqual([]);
  });

  it.each([
    ["first.mjs", "commonjs"],
    ["first.js", "module"],
    ["first.ts", "module"],
  ])("runs the README's twenty lines in %s of a project of type %s", async (name, type) => {
    const { project, file } = await written(name, type);
    expect(run(project, process.execPath, [file])).toBe("applied\ntrue\n");
  });

  it.each(["first.js", "first.ts"])("runs no import in %s of a project of type commonjs, as the README says", async (name) => {
    const { project, file } = await written(name, "commonjs");
    expect(() => run(project, process.execPath, [file])).toThrow("Cannot use import statement outside a module");
    expect(await readFile("README.md", "utf8")).toContain("Cannot use import statement outside a module");
  });

  /** The README's program in a new project of a type. */
  async function written(name: string, type: string): Promise<{ readonly project: string; readonly file: string }> {
    const project = await mkdtemp(join(root, "fresh-"));
    await writeFile(join(project, "package.json"), JSON.stringify({ type }));
    const [, program] = /```ts\n([\s\S]*?)```/.exec(await readFile("README.md", "utf8")) as RegExpExecArray;
    await writeFile(join(project, name), program);
    return { project, file: name };
  }

  it("installs nothing but itself, and runs no script to install", async () => {
    const project = join(root, "../empty");
    await mkdir(project);
    await writeFile(join(project, "package.json"), "{}");
    run(project, "npm", ["install", "--offline", "--no-audit", "--no-fund", installation.tarball]);
    const installed = (await readdir(join(project, "node_modules"))).filter((name) => !name.startsWith("."));
    expect(installed).toEqual(["afterclick"]);
    const files = (folder: string) => readdir(join(folder, "node_modules/afterclick"), { recursive: true });
    expect((await files(project)).sort()).toEqual((await files(root)).sort());

    const manifest = JSON.parse(await readFile(join(project, "node_modules/afterclick/package.json"), "utf8"));
    const own = Object.keys(JSON.parse(await readFile("package.json", "utf8")));
    const repositoryOnly = ["private", "scripts", "imports", "devDependencies", "optionalDependencies", "overrides"];
    expect(own.filter((field) => !(field in manifest))).toEqual(own.filter((field) => repositoryOnly.includes(field)));
    expect(manifest).not.toHaveProperty("dependencies");
    expect(manifest.peerDependenciesMeta).toEqual({ hono: { optional: true }, react: { optional: true }, valibot: { optional: true } });
  });

  it.each(["browser", "slim", "local"])("does nothing when %s.js is imported, whatever its manifest promises", async (name) => {
    for (const file of (await readdir(contents())).filter((file) => new RegExp(`^${name}(-shared)?\\.js$`).test(file))) {
      await cp(join(contents(), file), join(root, file === `${name}.js` ? `alone-${file}` : file));
    }
    // Allows constants only: the module calls and creates nothing.
    expect(new TextDecoder().decode(await bundled(`import "./alone-${name}.js"`))).not.toMatch(/[({[]|new /);
  });

  it("touches nothing of its host when it is imported", () => {
    const guarded = ["WebAssembly", "fetch", "crypto", "navigator", "document", "indexedDB", "localStorage"];
    const script = `
      for (const name of ${JSON.stringify(guarded)})
        Object.defineProperty(globalThis, name, { configurable: true, get() { throw new Error("asked for " + name); } });
      const before = Reflect.ownKeys(globalThis).length;
      for (const name of ["afterclick", "afterclick/slim", "afterclick/local"]) await import(name);
      console.log(Reflect.ownKeys(globalThis).length - before);`;
    const printed = run(root, process.execPath, ["--input-type=module", "-e", script]);
    expect(printed.trim()).toBe("0");
  });

  it.each(["page.js", "page-script.js"])("takes at most 2.2 kB with %s, gzipped", async (name) => {
    expect(gzipSync(await readFile(join(contents(), name)), { level: 9 }).length).toBeLessThanOrEqual(2200);
  });

  describe("with the core of linear policies, gzipped,", () => {
    const kilobytes = (bytes: Uint8Array) => gzipSync(bytes, { level: 9 }).length / 1000;
    const linearWith = async (code: string) => kilobytes(await readFile(join(contents(), "linear.wasm"))) + kilobytes(await bundled(code));

    it.each(["otfLinUcb", "otfLinTs"])("takes at most 36 kB with %s and the encoder", async (policy) => {
      const names = `${policy}, Recommender, encoder`;
      const size = await linearWith(`import { ${names} } from "afterclick/slim"; globalThis.kept = [${names}];`);
      expect(size).toBeGreaterThan(10);
      expect(size).toBeLessThanOrEqual(36);
    });

    it.each(["otfLinTs", "delayLinTs"])(
      "takes with %s and the encoder what docs/browser.md states, rounded up or little more",
      async (policy) => {
        const size = await linearWith(`export { encoder, ${policy}, Recommender } from "afterclick";`);
        const row = new RegExp(`\\x60${policy}\\x60 and the encoder, with \\x60linear.wasm\\x60 \\| (\\d+) kB`);
        const stated = Number(row.exec(await readFile("docs/browser.md", "utf8"))?.[1]);
        expect(stated).toBeGreaterThanOrEqual(size);
        expect(stated).toBeLessThan(size + 2);
      },
    );
  });

  it("has types without any", async () => {
    const types = join(contents(), "types");
    const texts = (await readdir(types, { recursive: true })).filter((name) => name.endsWith(".d.ts"));
    for (const name of texts) {
      const code = (await readFile(join(types, name), "utf8")).replace(/\/\*[\s\S]*?\*\/|"[^"\n]*"/g, "");
      expect(code, name).not.toMatch(/\bany\b/);
    }
    expect(texts.length).toBeGreaterThan(50);
  });

  it.each([
    ["7", "typescript", "sdk"],
    ["7", "typescript", "node"],
    ["7", "typescript", "worker"],
    // Another version of the compiler reads the same declarations. What a platform lacks does not depend on it.
    ["5.7", "typescript-oldest", "oldest"],
  ])("compiles in a strict project without skipLibCheck: TypeScript %s, %s, tsconfig.%s.json", (version, compiler, project) => {
    const tsc = [resolve("node_modules", compiler, "bin/tsc")];
    expect(run(root, process.execPath, [...tsc, "--version"])).toContain(`Version ${version}.`);
    expect(run(root, process.execPath, [...tsc, "-p", join("types", `tsconfig.${project}.json`)])).toBe("");
  });
});

describe("in workerd", () => {
  let harness: TestHarness;
  beforeAll(async () => {
    harness = createTestHarness({ workers: [{ configPath: join(root, "workerd/wrangler.jsonc"), secrets }] });
    await harness.listen();
  });
  afterAll(() => harness?.close());

  it("decides as Node does", async () => {
    expect(await (await harness.fetch("/decide")).json()).toEqual(inNode.own);
  });
});

describeInChromium("in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  async function openAt(path: string, options: SiteOptions = {}): Promise<{ decided: unknown; complaints: string[] }> {
    const site = await serve({ "/afterclick/": contents(), "/": root }, options);
    try {
      return await decidedIn(browser, site.url + path);
    } finally {
      site.close();
    }
  }

  it("runs bundled by esbuild, with the core of linear policies as a file of the bundle", async () => {
    await esbuild({
      entryPoints: [join(root, "esbuild/main.js")],
      outfile: join(root, "esbuild/bundle.js"),
      bundle: true,
      format: "esm",
      loader: { ".wasm": "file" },
    });
    expect(await openAt("/esbuild/index.html")).toEqual({ decided: inNode.own, complaints: [] });
  });

  it("runs in a plain page with an import map", async () => {
    expect(await openAt("/page/importmap.html")).toEqual({ decided: inNode.own, complaints: [] });
  });

  const strict = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

  it("runs under a strict policy, without unsafe-eval", async () => {
    expect(await openAt("/page/strict.html", { policy: strict })).toEqual({ decided: inNode.own, complaints: [] });
  });

  it("says so where the policy does not allow WebAssembly", async () => {
    const { decided } = await openAt("/page/strict.html", { policy: strict.replace(" 'wasm-unsafe-eval'", "") });
    expect(decided).toEqual({ name: "UnsupportedError", code: "core-not-compiled" });
  });

  it("does not mind with which type the core is served", async () => {
    const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "text/html" };
    expect((await openAt("/page/strict.html", { types })).decided).toEqual(inNode.own);
  });

  it("says so where there is no core", async () => {
    const { decided } = await openAt("/page/strict.html", { missing: "/afterclick/core.wasm" });
    expect(decided).toEqual({ name: "UnsupportedError", code: "core-not-found" });
  });
});
