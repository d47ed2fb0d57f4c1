// Workers compile WebAssembly only at deployment: the import is the compiled module.
import module from "./core.wasm";

export async function compileCore(): Promise<WebAssembly.Module> {
  return module;
}
