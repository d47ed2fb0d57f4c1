// Builds static files of the worker: the script and the style of the page at `/`, the OpenAPI document, and the headers of all files.
import { copyFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { policy } from "./playground/policy.ts";

const PUBLIC = "build/public";

// The worker sets the headers of the page itself, whose policy has a fresh nonce. A meta element cannot set frame-ancestors, nor the
// policy of the playground's Web Worker.
const headers = `/*
  X-Content-Type-Options: nosniff
  Cross-Origin-Resource-Policy: same-origin
/playground/*
  Content-Security-Policy: ${policy}; frame-ancestors 'none'
  Referrer-Policy: no-referrer
`;

await build({
  entryPoints: { script: "pages/index.tsx", style: "pages/ui/style/index.css" },
  outdir: `${PUBLIC}/page`,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2023", "chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "hono/jsx/dom",
  logLevel: "warning",
});
await copyFile("build/openapi.json", `${PUBLIC}/page/openapi.json`);
await writeFile(`${PUBLIC}/_headers`, headers);
