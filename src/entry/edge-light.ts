// Vercel's edge runtime compiles WebAssembly only when it builds: the import is the compiled module.
import module from "./core.wasm?module";

export async function compileCore(): Promise<WebAssembly.Module> {
  return module;
}
