import { checkWebAssembly } from "./compile.ts";

/** `afterclick/slim` loads no core: the caller passes a compiled one. React Native gets this entry, because its engine has no WebAssembly. */
export async function compileCore(): Promise<WebAssembly.Module> {
  checkWebAssembly();
  throw new TypeError("module: expected a compiled core.wasm, because afterclick/slim loads none");
}
