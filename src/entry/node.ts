import { compile } from "./compile.ts";

/** The bytes of core.wasm in Base64, which the build puts here: a server's bundle takes no file along that lies beside a module. */
declare const CORE: string;

/** Compiles the core inside this module. */
export async function compileCore(): Promise<WebAssembly.Module> {
  return compile("core.wasm", async () => bytesOf(atob(CORE)));
}

/** `Uint8Array.from` over a string takes longer than all else that creates a recommender. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
