import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";

it("every export of the SDK says what it is, for the reference", async () => {
  const index = await readFile("src/index.ts", "utf8");
  const silent: string[] = [];
  let names = 0;
  for (const [, list, module] of index.matchAll(/export (?:type )?\{([^}]*)\} from "([^"]+)"/g)) {
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
