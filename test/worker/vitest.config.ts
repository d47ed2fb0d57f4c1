import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL("../..", import.meta.url).href);

export default defineConfig({
  root,
  plugins: [
    {
      name: "source-maps-of-packages",
      // The published source maps of a package name sources that are not published.
      configResolved({ logger }) {
        const { warnOnce } = logger;
        logger.warnOnce = (message, options) => {
          if (!/^Sourcemap for ".*node_modules.*" points to missing/.test(message)) warnOnce(message, options);
        };
      },
    },
    cloudflareTest({
      wrangler: { configPath: `${root}wrangler.jsonc` },
      // In verbose mode workerd prints each exception that passes through an object, although its caller gets it and the test
      // expects it. An uncaught exception still fails the run, and `setup.ts` fails a test that logs errors.
      verbose: false,
      miniflare: {
        r2Buckets: ["BUCKET"],
        ratelimits: { RATE_LIMIT: { namespace_id: "1", simple: { limit: 3, period: 10 } } },
        bindings: {
          AFTERCLICK_SECRET_KEY: "secret-key-of-the-tests",
          AFTERCLICK_PUBLISHABLE_KEY: "publishable-key-of-the-tests",
          AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          AFTERCLICK_TOKEN_KEY: "token-key-of-the-tests",
          // Tests of windows do not depend on the senders in use.
          AFTERCLICK_GRACE_MS: "300000",
          AFTERCLICK_STRIPE_SECRET: "whsec_stripe-secret-of-the-tests",
          AFTERCLICK_SHOPIFY_SECRET: "shopify-secret-of-the-tests",
          AFTERCLICK_WOOCOMMERCE_SECRET: "woocommerce-secret-of-the-tests",
          AFTERCLICK_JOIN_KEY: "join-key-of-the-tests",
        },
      },
    }),
  ],
  // Vite does not resolve a package's own name.
  resolve: { alias: { "afterclick/research": `${root}dist/workerd-research.js`, afterclick: `${root}dist/workerd.js` } },
  test: {
    name: "worker",
    include: ["test/worker/**/*.test.ts"],
    setupFiles: ["test/worker/support/setup.ts", "test/support/chosen-seed.ts"],
    provide: { propertySeed: Number(process.env.PROPERTY_SEED ?? 1) },
    // Files share the two runtimes, so names of models are unique in each.
    isolate: false,
    maxWorkers: 2,
    sequence: { groupOrder: 1 },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
