import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { policies } from "afterclick";
import { afterAll, beforeAll, expect, it } from "vitest";

const readme = await readFile("README.md", "utf8");
const pages = [readme, await readFile("docs/errors.md", "utf8"), await readFile("docs/choosing.md", "utf8")];
const snippets = pages.flatMap((page) => Array.from(page.matchAll(/```ts\n([\s\S]*?)```/g), ([, code]) => code));

let folder: string;
beforeAll(async () => {
  // Runs inside the package, so that the package's own name resolves.
  await mkdir("build", { recursive: true });
  folder = await mkdtemp("build/readme-");
});
afterAll(() => rm(folder, { recursive: true }));

it.each(snippets.map((code, i) => [i + 1, code]))("snippet %i prints what its comments say", async (place, code) => {
  const file = join(folder, `${place}.ts`);
  await writeFile(file, code as string);
  const printed = execFileSync(process.execPath, [file], { encoding: "utf8", stdio: "pipe" }).trim().split("\n");
  expect(printed).toEqual(Array.from((code as string).matchAll(/console\.log\(.*\); \/\/ (.*)/g), ([, expected]) => expected));
  expect(printed.length).toBeGreaterThan(0);
});

it("lists every policy", () => {
  for (const { id } of policies) expect(readme).toContain(`\`${id}\``);
});

it("names only scripts that there are", async () => {
  const { scripts } = JSON.parse(await readFile("package.json", "utf8"));
  for (const [, name] of readme.matchAll(/npm run ([a-z]+)/g)) expect(Object.keys(scripts)).toContain(name);
});
