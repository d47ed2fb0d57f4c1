import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness } from "wrangler";
import { installTarball, packed, run, secrets } from "./installation.ts";

// Follows "Mount it in a worker of your own" of docs/deploy.md in an empty folder, with the packed package.

describe("the section", { shuffle: false }, () => {
  let folder: string;
  let blocks: readonly { readonly language: string; readonly code: string }[];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "afterclick-mount-"));
    const [, section] = (await readFile("docs/deploy.md", "utf8")).split(/^## (?=Mount it)/m);
    const text = section.split(/^## /m, 1)[0].replaceAll(/^ {3}/gm, "");
    blocks = Array.from(text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm), ([, language, code]) => ({ language, code }));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const blocksIn = (language: string) => blocks.filter((block) => block.language === language).map(({ code }) => code);

  it("installs all that it needs", async () => {
    const [install, check] = blocksIn("console");
    expect(check).toBe("npx tsc\nnpx afterclick deploy --dry-run\nnpx afterclick deploy --path /recommender\n");
    await writeFile(join(folder, "package.json"), "{}");
    await installTarball(folder, await packed());
    const named = Array.from(install.matchAll(/^npm install (.*)$/gm), ([, words]) => words.split(" ")).flat();
    for (const name of named.filter((word) => !["afterclick", "--save-dev"].includes(word))) {
      const link = join(folder, "node_modules", name);
      await mkdir(dirname(link), { recursive: true });
      await symlink(resolve("node_modules", name), link);
    }
    expect(named).toContain("@cloudflare/workers-types");
  });

  it("gives a worker that compiles", async () => {
    const [[worker], [tsconfig]] = [blocksIn("typescript"), blocksIn("json")];
    await writeFile(join(folder, "shop.ts"), worker);
    await writeFile(join(folder, "tsconfig.json"), tsconfig);
    expect(run(folder, process.execPath, [resolve("node_modules/typescript/bin/tsc")])).toBe("");
  });

  it("gives a configuration that bundles and serves it", async () => {
    const packaged = await readFile(join(folder, "node_modules/afterclick/wrangler.jsonc"), "utf8");
    const config = packaged.replace(/"main": "[^"]*"/, '"main": "shop.ts"');
    await writeFile(join(folder, "wrangler.jsonc"), config);
    const bin = join(folder, "node_modules/afterclick/dist/bin/afterclick.js");
    expect(run(folder, process.execPath, [bin, "deploy", "--dry-run"])).toMatch(/^Bundled afterclick: \d+ kB gzipped/m);

    const harness = createTestHarness({ workers: [{ configPath: join(folder, "wrangler.jsonc"), secrets }] });
    try {
      await harness.listen();
      const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}`, "content-type": "application/json" };
      const call = (method: string, path: string, body: object) =>
        harness.fetch(`/recommender/v1/models/shop${path}`, { method, headers, body: JSON.stringify(body) });
      expect((await call("PUT", "", { window: { ms: 60_000 } })).status).toBe(201);
      expect((await call("PUT", "/actions", { actions: [{ id: "boots" }] })).status).toBe(200);
      expect(await (await call("POST", "/recommendations", {})).json()).toMatchObject({ actions: [{ id: "boots" }] });
      expect(await (await harness.fetch("/recommender/openapi.json")).json()).toMatchObject({ openapi: "3.1.0" });
    } finally {
      await harness.close();
    }
  });
});
