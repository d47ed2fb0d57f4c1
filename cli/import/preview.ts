// Describes in plain words the prior that an import is about to send.

import { MOST_SOLD } from "../../worker/protocol/most.ts";
import { counted } from "../command/counted.ts";
import type { Sales, Sold } from "./sales-file.ts";

/** Unknown products that are named. */
const MOST_NAMED = 5;

/** A model's prior. */
export interface Prior {
  readonly sales: readonly { readonly action: string; readonly sales: number; readonly views?: number }[];
  readonly from?: number;
  readonly until?: number;
}

export interface Preview {
  readonly prior: Prior;
  readonly lines: readonly string[];
}

/** @param catalogue ids of the products that the model knows. @param before the prior that the model has. */
export function previewOf({ products, rows, from, until }: Sales, catalogue: ReadonlySet<string>, before: Prior | undefined): Preview {
  const ranked = [...products].toSorted(([, a], [, b]) => b.sales - a.sales);
  const known = catalogue.size === 0 ? ranked : ranked.filter(([id]) => catalogue.has(id));
  const unknown = catalogue.size === 0 ? [] : ranked.filter(([id]) => !catalogue.has(id)).map(([id]) => id);
  const kept = known.slice(0, MOST_SOLD);
  const period = from === undefined || until === undefined ? {} : { from, until };
  const sold = ranked.reduce((sum, [, { sales }]) => sum + sales, 0);
  const lines = [
    `${counted(rows, from === undefined ? "row" : "order")} with ${counted(sold, "sale")} of ${counted(products.size, "product")}${spanOf(period)}`,
    ...unknownLine(unknown),
    ...(catalogue.size === 0 ? ["the model has no catalogue yet, so no id can be checked"] : []),
    ...(kept.length < known.length ? [`the ${kept.length} best sellers count, the other ${known.length - kept.length} are left out`] : []),
    ...(kept.length > 0 ? [`the best seller is ${kept[0][0]} with ${counted(kept[0][1].sales, "sale")}${viewsOf(kept[0][1])}`] : []),
    ...(before && before.sales.length > 0
      ? [`this replaces the prior of ${counted(before.sales.length, "product")}${spanOf(before)}`]
      : []),
  ];
  return { prior: { sales: kept.map(([action, each]) => ({ action, ...each })), ...period }, lines };
}

const viewsOf = ({ views }: Sold): string => (views === undefined ? "" : ` and ${counted(views, "view")}`);

function unknownLine(ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const named = ids.slice(0, MOST_NAMED).join(", ");
  const verb = ids.length === 1 ? "is" : "are";
  return [
    `${counted(ids.length, "product")} ${verb} not in the catalogue and ${verb} left out: ${named}${ids.length > MOST_NAMED ? " ..." : ""}`,
  ];
}

function spanOf({ from, until }: Pick<Prior, "from" | "until">): string {
  if (from === undefined || until === undefined) return "";
  const { format } = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  return format(from) === format(until) ? ` on ${format(from)}` : ` from ${format(from)} to ${format(until)}`;
}
