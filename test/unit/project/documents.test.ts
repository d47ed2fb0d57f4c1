import { access, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { documents } from "../../support/documents.ts";

const PATH =
  /`(?:npx vitest run )?((?:assembly|src|local|worker|pages|simulation|experiments|bench|cli|trials|scripts|test|\.github)\/[\w./-]*)/g;
/** A block of changes that makes a new file. */
const NEW_FILE = /^ *```diff\n *\S+\n(?: *\+.*\n)+ *```$/gm;
const TEST = /\btest\/[\w./-]+/g;

const named = ["CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/operations.md", "docs/sizing.md", "docs/security.md"];

describe.each(named)("%s", (name) => {
  it("names only files that there are", async () => {
    const text = (await readFile(name, "utf8")).replaceAll(NEW_FILE, "");
    const mentioned = [...Array.from(text.matchAll(PATH), ([, path]) => path), ...(text.match(TEST) ?? [])];
    const missing: string[] = [];
    for (const path of new Set(mentioned)) await access(path).catch(() => missing.push(path));
    expect(missing.filter((path) => !path.includes("NAME"))).toEqual([]);
  });

  it("names only scripts that there are", async () => {
    const text = await readFile(name, "utf8");
    const { scripts } = JSON.parse(await readFile("package.json", "utf8"));
    for (const [, script] of text.matchAll(/npm run (?!-)([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(script);
  });
});

const pages = ["CONTRIBUTING.md", "examples/README.md", ...(await documents()).map(({ path }) => path)];

describe.each(pages)("%s", (page) => {
  it("installs the package from its tarball", async () => {
    expect(await readFile(page, "utf8")).not.toMatch(/npm (?:install|i|add) (?:\S+ )*afterclick\b/);
  });

  it("asks for no other version of Node than 22.18", async () => {
    const named = Array.from((await readFile(page, "utf8")).matchAll(/\bneed Node (\d[\d.]*\d)/g), ([, version]) => version);
    expect(named.filter((version) => version !== "22.18")).toEqual([]);
  });
});

it.each([
  ["docs/shop-page.md", ["shop-page/recommend.js", "shop-page/shop.ts"]],
  ["docs/hour.md", ["hour/page.html", "hour/shop.ts", "react/main.tsx", "next/app/page.tsx"]],
])("%s shows the code of its examples", async (page, examples) => {
  const text = await readFile(page, "utf8");
  const files = await Promise.all(examples.map((name) => readFile(`examples/${name}`, "utf8")));
  const lines = new Set(files.flatMap((code) => code.split("\n").map((line) => line.trim())));
  const blocks = Array.from(text.matchAll(/^```(\w*)\n([\s\S]*?)\n```$/gm)).filter(([, language]) => /^(js|tsx)?$/.test(language));
  const shown = blocks.flatMap(([, , code]) => code.split("\n"));
  expect(shown.filter((line) => !lines.has(line.trim()))).toEqual([]);
  expect(shown.length).toBeGreaterThan(15);
});
