import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { slug } from "github-slugger";
import { defineConfig } from "vitepress";

const REPOSITORY = "https://github.com/afterclick/afterclick";
const root = fileURLToPath(new URL("../..", import.meta.url));

/** The documents in the order of the sidebar, by their paths in the repository. */
const DOCUMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Start: {
    "README.md": "afterclick",
    "docs/README.md": "All pages",
    "docs/hour.md": "The first hour",
    "docs/tutorial.md": "Tutorial",
    "docs/choosing.md": "Choosing a policy and a window",
  },
  "Use it": {
    "docs/shop-page.md": "Show recommendations on your pages",
    "docs/react.md": "In a React app",
    "docs/browser.md": "In a browser",
    "docs/pages.md": "Report from a page",
    "docs/api.md": "Call the worker",
    "docs/webhooks.md": "Report conversions",
    "docs/from-personalizer.md": "From Azure Personalizer",
    "docs/senders.md": "Orders from Stripe, Shopify and others",
    "docs/troubleshooting.md": "Troubleshooting: the first hour",
    "docs/log.md": "Verify and evaluate a log",
    "docs/archive.md": "Archive the log",
    "examples/README.md": "Examples",
  },
  "Run it": {
    "docs/deploy.md": "Deploy",
    "docs/operations.md": "Operations",
    "docs/upgrading.md": "Upgrading",
    "docs/sizing.md": "Sizes and costs",
    "docs/security.md": "Security and privacy",
    "docs/errors.md": "Errors",
  },
  "Understand it": {
    "docs/architecture.md": "Architecture",
    "docs/worth.md": "How much traffic pays",
    "docs/research.md": "Research",
    "docs/intervals.md": "Do the intervals hold?",
    "docs/real-logs.md": "What a real log tells",
    "docs/speed.md": "Speed",
    "docs/glossary.md": "Glossary",
  },
  "Develop it": { "CONTRIBUTING.md": "Contributing", "SECURITY.md": "Report a vulnerability", "CHANGELOG.md": "Changelog" },
};

/** Address of a document: the repository's path, so that links work on GitHub and here. */
const addressOf = (path: string): string => `/${path.replace(/(README)?\.md$/, "")}`;

const documents = Object.entries(DOCUMENTS).map(([text, pages]) => ({
  text,
  items: Object.entries(pages)
    .filter(([path]) => existsSync(root + path))
    .map(([path, title]) => ({ text: title, link: addressOf(path) })),
}));

/** Pages that typedoc makes of the comments in `src`. */
const reference = {
  text: "Reference",
  items: [
    { text: "afterclick", link: "/docs/reference/afterclick" },
    { text: "afterclick/research", link: "/docs/reference/afterclick/research" },
    { text: "afterclick/local", link: "/docs/reference/afterclick/local" },
  ],
};

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="12" fill="none" stroke="#0b7a5c" stroke-width="4"/><circle cx="16" cy="16" r="5" fill="#0b7a5c"/></svg>';

/** Address on the site of a link as a document in a folder has it. */
function linkOf(href: string, folder: string): string {
  if (/^([a-z]+:|[/#])/.test(href)) return href;
  const [path, hash] = href.split("#");
  const file = join(folder, path);
  if (!path.endsWith(".md") && existsSync(root + file)) return `${REPOSITORY}/blob/main/${file}`;
  return path.replace(/(^|\/)README\.md$/, "$1index.md") + (hash === undefined ? "" : `#${hash}`);
}

export default defineConfig({
  title: "afterclick",
  description: "A contextual recommender whose policies know that conversions come late",
  lang: "en",
  base: process.env.DOCS_BASE ?? "/",
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  // Made by stage.ts.
  srcDir: "site",
  outDir: "../build/site",
  cacheDir: "../build/site-cache",
  rewrites: { "README.md": "index.md", "docs/README.md": "docs/index.md", "examples/README.md": "examples/index.md" },
  markdown: {
    // Links name headings as GitHub does.
    anchor: { slugify: slug },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      // Links to README files, which have other addresses here, and to files of the repository that are no pages.
      const render = md.renderer.rules.link_open;
      md.renderer.rules.link_open = (tokens, index, options, env, self) => {
        const href = tokens[index].attrGet("href") ?? "";
        tokens[index].attrSet("href", linkOf(href, dirname(relative(`${root}docs/site`, env.realPath ?? env.path))));
        return render ? render(tokens, index, options, env, self) : self.renderToken(tokens, index, options);
      };
    },
  },
  themeConfig: {
    siteTitle: "afterclick",
    search: { provider: "local" },
    nav: [
      { text: "Guide", link: "/" },
      { text: "Reference", link: "/docs/reference/afterclick" },
    ],
    sidebar: [...documents, reference],
    outline: { level: [2, 3] },
    socialLinks: [{ icon: "github", link: REPOSITORY }],
  },
});
