import { compile } from "./compile.ts";

/** The bytes of core.wasm in Base64, which the build puts here: a server's bundle takes no file along that lies beside a module. */
declare const CORE: string;

/** Compiles the core inside this module. */
export async function compileCore(): Promise<WebAssembly.Module> {
  return compile("core.wasm", async () => Uint8Array.from(atob(CORE), (byte) => byte.charCodeAt(0)));
}
