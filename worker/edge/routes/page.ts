// `GET /`: the HTML around the page's script. Its security policy allows no other script.

import { Hono } from "hono";
import { html } from "hono/html";
import { NONCE, secureHeaders } from "hono/secure-headers";
import { assets, type Environment, isDemo } from "../../environment.ts";
import type { Operations } from "../../protocol/operation.ts";
import { plainKey } from "../access/api-keys.ts";

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="12" fill="none" stroke="#0b7a5c" stroke-width="4"/><circle cx="16" cy="16" r="5" fill="#0b7a5c"/></svg>`;

/**
 * The page at `/`: the dashboard and, if the demonstration is on, the shop. Its only key is the publishable one. Its script and its style
 * are static files.
 */
export const page = new Hono<{ Bindings: Environment; Variables: { secureHeadersNonce?: string } }>();

page.use(
  "/",
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: [NONCE],
      styleSrc: [NONCE],
      connectSrc: ["'self'"],
      imgSrc: ["data:"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  }),
);

page.get("/", (c) => {
  assets(c.env);
  const nonce = c.get("secureHeadersNonce") ?? "";
  c.header("cache-control", "no-store");
  return c.html(isDemo(c.env) ? demonstration(nonce, plainKey(c.env, "AFTERCLICK_PUBLISHABLE_KEY")) : dashboard(nonce));
});

type Html = ReturnType<typeof html>;

function document(nonce: string, content: Html) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>afterclick</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<link rel="stylesheet" nonce="${nonce}" href="/page/style.css">
<script type="module" nonce="${nonce}" src="/page/script.js"></script>
</head>
<body>
${content}
</body>
</html>`;
}

const noscript = html`<noscript><p>This page needs JavaScript; the worker's API works without it.</p></noscript>`;

/** The header of every page. The playground's own is in its index.html. */
function header(views: Readonly<Record<string, string>>) {
  const links = Object.entries(views).map(([name, url]) => html`<a href="${url}">${name}</a>`);
  return html`<header>
<h1>afterclick</h1>
<p>Recommendations that learn from late purchases.</p>
<nav aria-label="Pages">${links}</nav>
</header>`;
}

const views = { Dashboard: "/#dashboard", Playground: "/playground/" };

/** The shop and the dashboard. */
function demonstration(nonce: string, publishableKey: string) {
  return document(
    nonce,
    html`${header({ Shop: "/#shop", ...views })}
<main data-publishable-key="${publishableKey}">${noscript}</main>`,
  );
}

/** The dashboard of all models, for an owner of the secret key. */
function dashboard(nonce: string) {
  return document(nonce, html`${header(views)}\n<main>${noscript}</main>`);
}

export const operations = (): Operations => ({
  "GET /": {
    id: "page",
    summary: "The dashboard",
    key: "none",
    answers: { 200: { description: "The page. It asks for the secret key.", media: "text/html" } },
    problems: [404],
  },
});
