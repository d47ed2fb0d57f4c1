// Computes what a shop costs on Cloudflare, for docs/sizing.md.

import { bytesPerImpression } from "./blocks.ts";

/** A shop's traffic. */
export interface Shop {
  /** Page views a day. */
  readonly views: number;
  /** Impressions of a page view. */
  readonly list: number;
  /** Share of impressions that convert. */
  readonly converts: number;
  readonly windowDays: number;
  readonly retentionDays: number;
  readonly dimension: number;
}

/** The rows that a shop writes, and the bytes that it stores. Rows and dollars are per million impressions. */
export interface Cost extends Shop {
  /** Impressions that one registration brings, on average. */
  readonly batch: number;
  readonly rowsPerMillion: number;
  /** Stored bytes of an impression in such batches. */
  readonly bytes: number;
  readonly dollarsPerMillion: number;
  /** Stored gigabytes once retention is reached. */
  readonly gigabytes: number;
  /** Learners that hold them, at 9 GB each. */
  readonly learners: number;
  readonly dollarsPerMonth: number;
}

/** Page views a day of four shops. */
export const shops = [1000, 30_000, 500_000, 5_000_000];

/** Cloudflare's prices in dollars, as of writing: rows written, KV writes and calls of Durable Objects per million, GB a month. */
const PRICES = { rows: 1, kvWrites: 5, calls: 0.15, gigabytes: 0.2 };
/** Rows of a registration: the block with its index, a tally, and the progress. `test/worker/store/blocks.test.ts` bounds them. */
const ROWS_PER_REGISTRATION = 4;
/** Rows of a conversion with its indexes, outcome, tally and progress. */
const ROWS_PER_CONVERSION = 6;
/** An isolate gathers impressions for this long, in s. */
const GATHER_S = 0.05;
/** A busy day has hours with so many times the mean traffic, and that is when impressions come. */
const PEAK = 2;
/** Isolates that share the traffic, per view a second: few isolates serve a small shop. */
const VIEWS_PER_ISOLATE = 50;
const LEARNER_GIGABYTES = 9;
const DAYS = 30;

/** Computes what a shop costs. */
export function costOf(shop: Shop): Cost {
  const { views, list, converts, windowDays, retentionDays, dimension } = shop;
  const perSecond = (PEAK * views) / 86_400;
  const isolates = Math.max(1, perSecond / VIEWS_PER_ISOLATE);
  // One registration has the view that begins it, and the views of the next `GATHER_S`.
  const batch = Math.min(500, list * (1 + (perSecond / isolates) * GATHER_S));
  const bytes = bytesPerImpression(batch, list, dimension);
  const rowsPerMillion = 1e6 * (ROWS_PER_REGISTRATION / batch + converts * ROWS_PER_CONVERSION);
  const calls = 1e6 / batch + 1e6 * converts;
  const dollarsPerMillion = (PRICES.rows * rowsPerMillion + PRICES.kvWrites * 1e6 * converts + PRICES.calls * calls) / 1e6;
  const gigabytes = (views * list * (windowDays + retentionDays) * bytes) / 1e9;
  const millions = (DAYS * views * list) / 1e6;
  const dollarsPerMonth = millions * dollarsPerMillion + gigabytes * PRICES.gigabytes;
  const learners = Math.ceil(gigabytes / LEARNER_GIGABYTES);
  return { ...shop, batch, rowsPerMillion, bytes, dollarsPerMillion, gigabytes, learners, dollarsPerMonth };
}

const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

/** The costs as a table in Markdown. */
export function tableOf(costs: readonly Cost[]): string {
  const head = ["page views a day", "batch", "rows per million", "bytes", "$ per million", "stored GB", "learners", "$ a month"];
  const rows = costs.map((cost) => [
    whole(cost.views),
    whole(cost.batch),
    whole(cost.rowsPerMillion),
    whole(cost.bytes),
    cost.dollarsPerMillion.toFixed(2),
    cost.gigabytes.toFixed(2),
    whole(cost.learners),
    cost.dollarsPerMonth.toFixed(2),
  ]);
  return [head, head.map(() => "--:"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
