/** Whoever imports `afterclick/slim` brings the core. */
export async function compileCore(): Promise<WebAssembly.Module> {
  throw new TypeError("module: expected a compiled core.wasm, as afterclick/slim loads none itself");
}
