import { runInNewContext } from "node:vm";
import { build } from "esbuild";
import { afterEach, expect, it, vi } from "vitest";
import { compileCore } from "../../../src/entry/browser.ts";
import { compile } from "../../../src/entry/compile.ts";

// Hosts that cannot run the core, and servers that lack it.

const url = new URL("https://shop.example/core.wasm");
const bytes = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
const unsupported = (code: string, message: RegExp) => ({ name: "UnsupportedError", code, message: expect.stringMatching(message) });

afterEach(() => vi.unstubAllGlobals());

it("compiles what is a module", async () => {
  expect(await compile(url, async () => bytes)).toBeInstanceOf(WebAssembly.Module);
});

it("says that a host has no WebAssembly, or none with SIMD, before it loads anything", async () => {
  const load = vi.fn(async () => bytes);
  vi.stubGlobal("WebAssembly", undefined);
  await expect(compile(url, load)).rejects.toMatchObject(unsupported("no-webassembly", /no WebAssembly/));
  vi.stubGlobal("WebAssembly", { validate: () => false });
  await expect(compile(url, load)).rejects.toMatchObject(unsupported("no-simd", /128-bit SIMD/));
  expect(load).not.toHaveBeenCalled();
});

it("names the address at which there is no core, or something else", async () => {
  vi.stubGlobal("fetch", async () => new Response("not found", { status: 404 }));
  await expect(compileCore()).rejects.toMatchObject(unsupported("core-not-found", /core\.wasm: .*status 404/));
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  await expect(compileCore()).rejects.toMatchObject(unsupported("core-not-found", /Failed to fetch/));
  vi.stubGlobal("fetch", async () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } }));
  await expect(compileCore()).rejects.toMatchObject(unsupported("core-not-compiled", /core\.wasm: expected core\.wasm, and a policy with/));
});

it("says what to pass where a classic script has no address", async () => {
  const { outputFiles } = await build({
    entryPoints: ["src/entry/browser.ts"],
    bundle: true,
    globalName: "core",
    write: false,
    logLevel: "error",
  });
  const compileIn = (location?: object) =>
    runInNewContext(`${outputFiles[0].text}; core.compileCore()`, { WebAssembly, URL, fetch: async () => new Response(bytes), location });
  await expect(compileIn({ href: "https://shop.example/assets/worker.js" })).resolves.toBeInstanceOf(WebAssembly.Module);
  for (const location of [undefined, { href: "blob:https://shop.example/1" }]) {
    await expect(compileIn(location)).rejects.toMatchObject(
      unsupported(
        "core-not-found",
        /^core\.wasm beside .*: the core could not be loaded: put core\.wasm there, or pass `module`: Invalid URL/,
      ),
    );
  }
});

it("does not ask with which type it is served", async () => {
  vi.stubGlobal("fetch", async () => new Response(bytes, { headers: { "content-type": "text/plain" } }));
  expect(await compileCore()).toBeInstanceOf(WebAssembly.Module);
});
