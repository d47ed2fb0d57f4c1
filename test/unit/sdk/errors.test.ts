import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { NumericalError, SnapshotError, UnsupportedError } from "afterclick";
import { expect, it } from "vitest";

const page = await readFile("docs/errors.md", "utf8");
const anchors = Array.from(page.matchAll(/^### (\S+)$/gm), ([, code]) => code);

/** Error codes in the sources: thrown ones and documented ones. */
async function codes(): Promise<Set<string>> {
  const files = (await readdir("src", { recursive: true })).filter((name) => name.endsWith(".ts"));
  const texts = await Promise.all(files.map((name) => readFile(join("src", name), "utf8")));
  const thrown = texts.flatMap((text) =>
    Array.from(text.matchAll(/(?:Snapshot|Numerical|Unsupported)Error\(\s*"([a-z-]+)"/g), ([, code]) => code),
  );
  const documented = texts.flatMap((text) =>
    Array.from(
      text.matchAll(/@throws \{[^}]*(?:Snapshot|Numerical|Unsupported)Error[^}]*\}[^@/]*?codes? ((?:[,\s*]|or|`[a-z-]+`)+)/g),
    ).flatMap(([, list]) => Array.from(list.matchAll(/`([a-z-]+)`/g), ([, code]) => code)),
  );
  return new Set([...thrown, ...documented]);
}

it("every code has its place among the errors that are described, once", async () => {
  const known = await codes();
  expect(known).toContain("state-version");
  expect([...known].filter((code) => !anchors.includes(code))).toEqual([]);
  expect(new Set(anchors).size).toBe(anchors.length);
});

it.each([SnapshotError, NumericalError, UnsupportedError])("%o tells where that is", (Kind) => {
  const error = new Kind("checksum", "altered");
  expect(error).toMatchObject({ code: "checksum", message: "altered", name: Kind.name });
  expect(new URL(error.help).pathname.endsWith("/docs/errors.md")).toBe(true);
  expect(anchors).toContain(new URL(error.help).hash.slice(1));
});
