import { readFile } from "node:fs/promises";
import { compile } from "./compile.ts";

let compiled: Promise<WebAssembly.Module> | undefined;

/** Compiles the core.wasm beside this module, once in a process. A failure is tried again. */
export function compileCore(): Promise<WebAssembly.Module> {
  const url = new URL("./core.wasm", import.meta.url);
  compiled ??= compile(url, () => readFile(url)).catch((error) => {
    compiled = undefined;
    throw error;
  });
  return compiled;
}
