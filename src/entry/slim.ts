/** `afterclick/slim` loads no core: the caller passes a compiled one. */
export async function compileCore(): Promise<WebAssembly.Module> {
  throw new TypeError("module: expected a compiled core.wasm, because afterclick/slim loads none");
}
