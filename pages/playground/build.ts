// npm run playground -- [--out DIR]
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { policy } from "./policy.ts";

const here = "pages/playground";
const served = "build/public/playground";

/** Links to the worker's other pages. The worker may have no shop, so the page shows that link once it has found the shop. */
const views = `<nav aria-label="Pages"><a href="/#shop" hidden>Shop</a><a href="/#dashboard">Dashboard</a><a href="./" aria-current="page">Playground</a></nav>`;
/** Other hosts have no other page. */
const website = `<nav aria-label="Pages"><a href="./" aria-current="page">Playground</a><a href="https://github.com/afterclick/afterclick">Source</a></nav>`;

const USAGE = `Builds the playground as static files for any host. All their URLs are relative.

Usage: npm run playground -- [--out DIR]

  --out DIR   folder of the files; default: ${served}, which the worker serves

Example: npm run playground -- --out build/try`;

const { values } = parseArgs({ options: { out: { type: "string", default: served }, help: { type: "boolean", short: "h" } } });
if (values.help) {
  console.log(USAGE);
  process.exit();
}
const ours = values.out === served;
// Deletes only the default folder: a folder named with --out may hold other files.
if (ours) await rm(served, { recursive: true, force: true });
await mkdir(values.out, { recursive: true });
await build({
  entryPoints: {
    playground: join(here, "client/index.tsx"),
    background: join(here, "background.ts"),
    style: join(here, "playground.css"),
  },
  outdir: values.out,
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  conditions: ["browser"],
  target: ["es2023", "chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "hono/jsx/dom",
  logLevel: "warning",
});
const source = await readFile(join(here, "index.html"), "utf8");
const page = source.replace("{{policy}}", policy).replace("{{navigation}}", ours ? views : website);
await writeFile(join(values.out, "index.html"), page);
await copyFile(join(here, "icon.svg"), join(values.out, "icon.svg"));
await copyFile("dist/core.wasm", join(values.out, "core.wasm"));
if (!ours) console.log(`The playground is in ${values.out}`);
