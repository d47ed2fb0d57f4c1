// Bundles the page's script and style into a module of two strings. The worker serves both inline, under one nonce.
import { mkdir, writeFile } from "node:fs/promises";
import { build } from "esbuild";

async function bundle(entryPoint: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`pages/${entryPoint}`],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: ["es2023", "chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "hono/jsx/dom",
    logLevel: "warning",
  });
  return outputFiles[0].text;
}

const [script, style] = await Promise.all([bundle("index.tsx"), bundle("ui/style/index.css")]);
await mkdir("build", { recursive: true });
const exported = Object.entries({ script, style }).map(([name, text]) => `export const ${name}: string = ${JSON.stringify(text)};\n`);
await writeFile("build/page.ts", exported.join(""));
