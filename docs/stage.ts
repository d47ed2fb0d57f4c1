// Copies the pages of the site into docs/site, each at its path in the repository, so that links between them work there too.
// VitePress finds its packages only for pages inside the folder that has them.
import { cp, glob, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PAGES = ["*.md", "docs/*.md", "docs/*.png", "docs/figures/*", "docs/reference/**/*.md", "examples/README.md"];

const root = fileURLToPath(new URL("..", import.meta.url));
const site = join(root, "docs/site");

await rm(site, { recursive: true, force: true });
for await (const path of glob(PAGES, { cwd: root })) {
  await mkdir(dirname(join(site, path)), { recursive: true });
  await cp(join(root, path), join(site, path));
}
