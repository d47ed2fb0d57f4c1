/** The content security policy of the playground: it may run its own scripts and compile its own WebAssembly. It may load nothing from another origin. */
export const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  ...["style-src", "connect-src", "worker-src", "img-src"].map((kind) => `${kind} 'self'`),
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
