import { access, readFile } from "node:fs/promises";
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
