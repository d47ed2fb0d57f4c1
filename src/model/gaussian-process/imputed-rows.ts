import type { CoreRows } from "../../core/core-process.ts";
import type { GaussianProcess } from "./gaussian-process.ts";

/** One point, with its impressions and rewards. */
interface Site {
  readonly point: Float64Array;
  count: number;
  sum: number;
  pending: number;
}

/**
 * The impressions of two processes: those that `known` has, with their rewards, and those that only `all` has, each with the mean of
 * `known` at its point for a reward. One row for each point.
 */
export function imputedRows(known: GaussianProcess, all: GaussianProcess): CoreRows {
  const sites = new Map<string, Site>();
  eachRow(all, sites, (site, count) => {
    site.pending += count;
  });
  eachRow(known, sites, (site, count, sum) => {
    site.count += count;
    site.sum += sum;
    site.pending -= count;
  });
  let { squares } = known.rows;
  for (const site of sites.values()) {
    // At capacity, the two processes may have merged an impression into different points.
    const pending = Math.max(site.pending, 0);
    const mean = pending === 0 ? 0 : known.moments(site.point).mean[0];
    site.count += pending;
    site.sum += pending * mean;
    squares += pending * mean * mean;
  }
  const list = [...sites.values()];
  return {
    points: Float64Array.from(list.flatMap(({ point }) => Array.from(point))),
    counts: Float64Array.from(list, ({ count }) => count),
    sums: Float64Array.from(list, ({ sum }) => sum),
    squares,
  };
}

function eachRow(process: GaussianProcess, sites: Map<string, Site>, visit: (site: Site, count: number, sum: number) => void): void {
  const { dimension: d, rows } = process;
  for (let row = 0; row < rows.counts.length; row++) {
    const point = rows.points.slice(row * d, (row + 1) * d);
    const key = point.join();
    const site = sites.get(key) ?? { point, count: 0, sum: 0, pending: 0 };
    sites.set(key, site);
    visit(site, rows.counts[row], rows.sums[row]);
  }
}
