import { LOCAL_NAMESPACE, type WranglerConfig } from "./deployment.ts";

/** A configuration with what its environments change. */
export interface Environments extends WranglerConfig {
  readonly env?: Readonly<Record<string, Partial<WranglerConfig>>>;
  readonly ratelimits?: readonly { readonly namespace_id: string }[];
}

/** Fields of production that a second worker must not use: its addresses and its archive. */
const OWN_TO_PRODUCTION = ["route", "routes", "r2_buckets"] as const;
const FIRST_STAGING_LIMIT = 1000;

/**
 * The configuration of an environment. Staging is production under another name, with a KV namespace and counters of rate limits of its
 * own. In both, the fields under `env` in wrangler.jsonc replace the others.
 */
export function ofEnvironment(all: Environments, environment: "production" | "staging"): WranglerConfig {
  const { env, ...production } = all;
  if (environment === "production") return { ...production, ...env?.production };
  return {
    ...production,
    ...Object.fromEntries(OWN_TO_PRODUCTION.map((field) => [field, undefined])),
    name: `${production.name}-staging`,
    kv_namespaces: production.kv_namespaces.map((namespace) => ({ ...namespace, id: LOCAL_NAMESPACE })),
    ...(production.ratelimits && {
      ratelimits: production.ratelimits.map((limit) => ({
        ...limit,
        namespace_id: String(FIRST_STAGING_LIMIT + Number(limit.namespace_id)),
      })),
    }),
    ...env?.staging,
  };
}
