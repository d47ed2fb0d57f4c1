import { readFile } from "node:fs/promises";
import { compile } from "./compile.ts";

/** Compiles the core.wasm beside this module. */
export async function compileCore(): Promise<WebAssembly.Module> {
  const url = new URL("./core.wasm", import.meta.url);
  return compile(url, () => readFile(url));
}
