// npm run sizing: rows, bytes and dollars of a shop, from blocks that this command makes.
import { command, numberIn, wholeNumber } from "../cli/command/command.ts";
import { costOf, type Shop, shops, tableOf } from "./sizing/cost.ts";

const USAGE = `Computes what a shop writes, stores and pays, from measured sizes of blocks and Cloudflare's prices.

Usage: npm run sizing -- [options]

  --views N      page views a day; without it, four shops from 1,000 to 5,000,000
  --list N       impressions of a page view, default 6
  --converts N   share of impressions that convert, default 0.02
  --window N     window in days, default 7
  --retention N  days for which rows are kept after the window, default 30
  --dimension N  features, default 256

Example: npm run sizing -- --views 30000 --list 12`;

await command({
  usage: USAGE,
  options: {
    views: { type: "string" },
    list: { type: "string", default: "6" },
    converts: { type: "string", default: "0.02" },
    window: { type: "string", default: "7" },
    retention: { type: "string", default: "30" },
    dimension: { type: "string", default: "256" },
  },
  async run({ views, list, converts, window, retention, dimension }) {
    const common = {
      list: wholeNumber("--list", list, 1, 100),
      converts: numberIn("--converts", converts, 0, 1),
      windowDays: numberIn("--window", window, 0.001, 366),
      retentionDays: numberIn("--retention", retention, 1, 366),
      dimension: wholeNumber("--dimension", dimension, 16, 512),
    };
    const chosen = views === undefined ? shops : [wholeNumber("--views", views, 1, 1e9)];
    console.log(tableOf(chosen.map((each): Shop => ({ ...common, views: each })).map((shop) => costOf(shop))));
  },
});
