import { compile } from "./compile.ts";

/** The address of a classic script, in which a bundler leaves `import.meta` empty. The document knows it only while the script runs. */
const scriptUrl = /* @__PURE__ */ (() => (globalThis.document?.currentScript as HTMLScriptElement | null)?.src)();

/** Compiles the core.wasm beside this module, classic script or worker. */
export async function compileCore(): Promise<WebAssembly.Module> {
  // Bundlers look for this expression.
  const url = import.meta.url ? new URL("./core.wasm", import.meta.url) : undefined;
  const script = scriptUrl || globalThis.location?.href;
  return compile(url ?? `core.wasm beside ${script}`, async () => {
    const response = await fetch(url ?? new URL("core.wasm", script));
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response.arrayBuffer();
  });
}
