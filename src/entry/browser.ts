/** Compiles the core from the file served beside this module. */
export async function compileCore(): Promise<WebAssembly.Module> {
  return WebAssembly.compileStreaming(fetch(new URL("./core.wasm", import.meta.url)));
}
