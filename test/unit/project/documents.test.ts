import { access, glob, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";

const PATH = /`(?:npx vitest run )?((?:assembly|src|local|worker|pages|simulation|experiments|bench|scripts|test|\.github)\/[\w./-]*)/g;
const TEST = /\btest\/[\w./-]+/g;

const documents = ["CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/operations.md", "docs/sizing.md", "docs/security.md"];

describe.each(documents)("%s", (name) => {
  it("names only files that there are", async () => {
    const text = await readFile(name, "utf8");
    const named = [...Array.from(text.matchAll(PATH), ([, path]) => path), ...(text.match(TEST) ?? [])];
    const missing: string[] = [];
    for (const path of new Set(named)) await access(path).catch(() => missing.push(path));
    expect(missing.filter((path) => !path.includes("NAME"))).toEqual([]);
  });

  it("names only scripts that there are", async () => {
    const text = await readFile(name, "utf8");
    const { scripts } = JSON.parse(await readFile("package.json", "utf8"));
    for (const [, script] of text.matchAll(/npm run (?!-)([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(script);
  });
});

it("installs the package from its tarball on every page", async () => {
  const pages = await Array.fromAsync(glob(["*.md", "docs/*.md", "examples/**/*.{md,ts}"], { exclude: ["**/node_modules/**"] }));
  expect(pages.length).toBeGreaterThan(20);
  for (const page of pages) expect(await readFile(page, "utf8"), page).not.toMatch(/npm (?:install|i|add) (?:\S+ )*afterclick\b/);
});

it("asks for one version of Node everywhere", async () => {
  for (const page of await Array.fromAsync(glob(["*.md", "docs/*.md", "examples/**/*.md"], { exclude: ["**/node_modules/**"] }))) {
    const named = Array.from((await readFile(page, "utf8")).matchAll(/\bneed Node (\d[\d.]*\d)/g), ([, version]) => version);
    expect(new Set([...named, "22.18"]), page).toEqual(new Set(["22.18"]));
  }
});
