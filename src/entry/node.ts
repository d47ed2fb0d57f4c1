import { readFile } from "node:fs/promises";

/** Compiles the core from the file beside this module. */
export async function compileCore(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(new URL("./core.wasm", import.meta.url)));
}
