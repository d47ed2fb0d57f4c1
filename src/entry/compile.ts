import { UnsupportedError } from "../values/errors.ts";

/** A module with one function of type () -> (): i32.const 0, i8x16.splat, drop. It is valid only with SIMD. */
const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 9, 1, 7, 0, 65, 0, 253, 15, 26, 11];

/** @throws {UnsupportedError} code `no-webassembly`, such as in an app of React Native. */
export function checkWebAssembly(): void {
  if (typeof WebAssembly === "object") return;
  const remedy = "ask a worker over HTTP, with afterclick(url, { key }) of afterclick/client";
  throw new UnsupportedError("no-webassembly", `this host has no WebAssembly: ${remedy}`);
}

/**
 * Compiles the core. The content type of a response does not matter. An error names the source.
 *
 * @throws {UnsupportedError} code `no-webassembly`, `no-simd`, `core-not-found`, or `core-not-compiled` for bytes other than
 * core.wasm, or if the content security policy of the page forbids it.
 */
export async function compile(source: URL | string, load: () => Promise<BufferSource>): Promise<WebAssembly.Module> {
  checkWebAssembly();
  if (!WebAssembly.validate(Uint8Array.from(SIMD))) {
    throw new UnsupportedError("no-simd", "the WebAssembly of this host has no 128-bit SIMD");
  }
  const failed = (code: string, what: string) => (error: Error) => {
    throw new UnsupportedError(code, `${source}: ${what}: ${error.message}`);
  };
  const bytes = await load().catch(failed("core-not-found", "the core could not be loaded: put core.wasm there, or pass `module`"));
  return WebAssembly.compile(bytes).catch(failed("core-not-compiled", "expected core.wasm, and a policy with 'wasm-unsafe-eval'"));
}
