import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { expect, it } from "vitest";

const kilobytes = (bytes: Uint8Array): number => gzipSync(bytes, { level: 9 }).length / 1000;
const core = kilobytes(await readFile("dist/core.wasm"));
const page = await readFile("docs/browser.md", "utf8");

/** Size of the built SDK that a page loads for these imports, minified, with the core. */
async function loaded(names: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export ${names} from "./dist/browser.js";`, resolveDir: "." },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
  });
  return kilobytes(outputFiles[0].contents) + core;
}

/** The page states the size rounded up, or up to 2 kB more, so that a small change needs no edit. */
function expectStated(pattern: RegExp, size: number): void {
  const stated = Number(pattern.exec(page)?.[1]);
  expect(stated).toBeGreaterThanOrEqual(size);
  expect(stated).toBeLessThan(size + 2);
}

it("of the core is at most 19 kB, and what the page states", () => {
  expect(core).toBeLessThanOrEqual(19);
  expectStated(/core of (\d+) kB/, core);
});

it.each([
  ["`otfLinUcb` and the encoder", "{ encoder, otfLinUcb, Recommender }"],
  ["`delayLinTs` and the encoder", "{ delayLinTs, encoder, Recommender }"],
  ["`delayGpUcb` and the encoder", "{ delayGpUcb, encoder, Recommender }"],
  ["all policies and the encoder", "{ encoder, policies, Recommender }"],
  ["`Model`", "{ Model }"],
  ["everything", "*"],
])("of %s is what the page states", async (imports, names) => {
  expectStated(new RegExp(`^\\| ${imports} \\| (\\d+) kB \\|$`, "m"), await loaded(names));
});

it.each([
  ["react", /components of React\]\(react\.md\) 18 and later, with the beacon: ([\d.]+) kB/],
  ["react-server", /what a server asks for them: ([\d.]+) kB/],
])("of %s.js is what the page states, rounded up or little more", async (name, pattern) => {
  const { code } = await transform(await readFile(`dist/${name}.js`, "utf8"), { minify: true, format: "esm" });
  const size = kilobytes(Buffer.from(code));
  const stated = Number(pattern.exec(page)?.[1]);
  expect(stated).toBeGreaterThanOrEqual(size);
  expect(stated).toBeLessThan(size + 0.3);
});
