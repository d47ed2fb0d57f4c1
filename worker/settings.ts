/**
 * Bindings and variables, without the learners. The five secrets have no default. Each may hold several values, separated by whitespace, so that a new
 * value works before the old one is removed.
 */
export interface Settings {
  readonly EVENTS: KVNamespace;
  /** Limits each address with a publishable key, and senders of forged webhooks. Absent: no limit. */
  readonly RATE_LIMIT?: RateLimit;
  /** Limits a publishable key in all pages of an origin together. Absent: no limit. */
  readonly ORIGIN_RATE_LIMIT?: RateLimit;
  /** The files of the pages and the OpenAPI document, as static assets. Absent: the worker has neither. */
  readonly ASSETS?: Fetcher;
  /** Takes the log as Parquet before it is forgotten. Absent: no archive. */
  readonly ARCHIVE?: R2Bucket;
  /** Grants every route. A value may also be `sha256:` and the key's hash in hex. */
  readonly AFTERCLICK_SECRET_KEY?: string;
  /** For web pages: grants recommendations and the routes of `local` models. Values may be hashed too. */
  readonly AFTERCLICK_PUBLISHABLE_KEY?: string;
  /** `whsec_` and base64, as in Standard Webhooks. `sender=` before it names its sender. */
  readonly AFTERCLICK_WEBHOOK_SECRET?: string;
  /** Signs impression tokens with the first value. Tokens signed with the others stay valid. */
  readonly AFTERCLICK_TOKEN_KEY?: string;
  /** Hashes join keys with the first value. Keys hashed with the others are still found. */
  readonly AFTERCLICK_JOIN_KEY?: string;
  /** Secrets of Stripe's webhook endpoints, `whsec_...`. Absent: `POST /v1/hooks/stripe` is off. */
  readonly AFTERCLICK_STRIPE_SECRET?: string;
  /** Secrets that sign Shopify's webhooks. Absent: `POST /v1/hooks/shopify` is off. */
  readonly AFTERCLICK_SHOPIFY_SECRET?: string;
  /** Further senders of orders, as JSON: their secrets, and the paths of fields in their payloads. */
  readonly AFTERCLICK_SENDERS?: string;
  /** Origins whose pages may use a publishable key, such as https://shop.example; `*` for any. The worker's own is always allowed. */
  readonly AFTERCLICK_ALLOWED_ORIGINS?: string;
  /** "true" serves the demonstration shop. For local use only. */
  readonly AFTERCLICK_DEMO?: string;
  /** Grace: time after the window in which a conversion may still be delivered, in ms. Default: 300,000. */
  readonly AFTERCLICK_GRACE_MS?: string;
}
