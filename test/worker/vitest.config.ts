import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL("../..", import.meta.url));

export default defineConfig({
  root,
  plugins: [
    cloudflareTest({
      wrangler: { configPath: `${root}wrangler.jsonc` },
      miniflare: {
        ratelimits: { RATE_LIMIT: { namespace_id: "1", simple: { limit: 3, period: 10 } } },
        bindings: {
          AFTERCLICK_SECRET_KEY: "secret-key-of-the-tests",
          AFTERCLICK_PUBLISHABLE_KEY: "publishable-key-of-the-tests",
          AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          AFTERCLICK_TOKEN_KEY: "token-key-of-the-tests",
        },
      },
    }),
  ],
  // Vite does not resolve a package's own name.
  resolve: { alias: { afterclick: `${root}dist/workerd.js` } },
  test: { name: "worker", include: ["test/worker/**/*.test.ts"], testTimeout: 30_000 },
});
