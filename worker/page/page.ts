import { Hono } from "hono";
import { html, raw } from "hono/html";
import { NONCE, secureHeaders } from "hono/secure-headers";
import { script, style } from "../../build/page.ts";
import { type Environment, secret } from "../environment.ts";

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="12" fill="none" stroke="#0b7a5c" stroke-width="4"/><circle cx="16" cy="16" r="5" fill="#0b7a5c"/></svg>`;

/** The page at `/`: the demonstration shop, or, where it is off, what this worker is. */
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
  const nonce = c.get("secureHeadersNonce") ?? "";
  c.header("cache-control", "no-store");
  return c.html(c.env.AFTERCLICK_DEMO === "true" ? shop(nonce, secret(c.env, "AFTERCLICK_PUBLISHABLE_KEY")) : notice(nonce));
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
<style nonce="${nonce}">${raw(style)}</style>
</head>
<body>
${content}
</body>
</html>`;
}

function shop(nonce: string, publishableKey: string) {
  return document(
    nonce,
    html`<header>
<h1>afterclick</h1>
<p>A shop that learns from purchases, even when they are reported late.</p>
</header>
<main data-key="${publishableKey}"><noscript><p>The shop needs JavaScript.</p></noscript></main>
<script type="module" nonce="${nonce}">${raw(script)}</script>`,
  );
}

function notice(nonce: string) {
  return document(
    nonce,
    html`<header>
<h1>afterclick</h1>
<p>A contextual recommender whose policies know that conversions come late.</p>
</header>
<main class="notice">
<p>This worker answers under <code>/v1</code>. Its demonstration shop is off: it is served where <code>AFTERCLICK_DEMO</code> is <code>true</code>, as it is after <code>npm start</code>.</p>
</main>`,
  );
}
