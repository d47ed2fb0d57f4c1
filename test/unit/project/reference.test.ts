import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, it } from "vitest";

it("every export of the SDK says what it is, for the reference", async () => {
  const index = (await Promise.all(["src/index.ts", "src/research.ts"].map((name) => readFile(name, "utf8")))).join("");
  const silent: string[] = [];
  let names = 0;
  for (const [, list, module] of index.matchAll(/export (?:type )?\{([^}]*)\} from "([^"]+)"/g)) {
    // These are declared as constants of their own files, which the loop below reads.
    if (module === "./policy/factories.ts") continue;
    const text = await readFile(join("src", module), "utf8");
    for (const name of list.split(",").map((each) => each.replace("type ", "").trim())) {
      if (name === "") continue;
      names++;
      const declared = new RegExp(`\\*/\\nexport (?:async )?(?:const|class|function|interface|type) ${name}\\b`);
      if (!declared.test(text)) silent.push(`${name} in ${module}`);
    }
  }
  const factories = await readFile("src/policy/factories.ts", "utf8");
  expect(index).toContain('export * from "./policy/factories.ts";');
  for (const [, module] of factories.matchAll(/export \* from "([^"]+)"/g)) {
    const text = await readFile(join("src/policy", module), "utf8");
    for (const [, before, name] of text.matchAll(/^(.*)\nexport (?:const|interface|type) (\w+)/gm)) {
      names++;
      if (!before.endsWith("*/")) silent.push(`${name} in ${module}`);
    }
  }
  expect(names).toBeGreaterThan(90);
  expect(silent).toEqual([]);
});

it("the front door has at most 60 names, types counted, and research has all of them", async () => {
  const [index, research] = await Promise.all(["src/index.ts", "src/research.ts"].map((name) => readFile(name, "utf8")));
  const lists = Array.from(index.matchAll(/export (?:type )?\{([^}]*)\} from/g), ([, list]) =>
    list.split(",").filter((each) => each.trim()),
  );
  expect(lists.length).toBe((index.match(/^export /gm) ?? []).length);
  expect(lists.flat().length).toBeLessThanOrEqual(60);
  expect(lists.flat().length).toBeGreaterThan(50);
  expect(research).toContain('export * from "./index.ts";');
});

it("every file of more than 60 lines says at its head what it is for, or begins with the subject that its name states", async () => {
  const files = globSync("{assembly,src,worker,pages,cli,trials,scripts}/**/*.{ts,tsx}").filter((name) => !/__tests__|\.d\.ts$/.test(name));
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const silent: string[] = [];
  for (const file of files) {
    const text = await readFile(file, "utf8");
    if (text.split("\n").length <= 61 || /^\/[/*]/.test(text)) continue;
    const code = text.replace(/^import [^"]*"[^"]+";\n/gm, "").trimStart();
    const [, subject = ""] =
      /^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?:export )?(?:async )?(?:class|function|const|interface|type) (\w+)/.exec(code) ?? [];
    if (plain(subject) !== plain(basename(file).replace(/\.tsx?$/, ""))) silent.push(file);
  }
  expect(files.length).toBeGreaterThan(500);
  expect(silent).toEqual([]);
});
