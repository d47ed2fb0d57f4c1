/** The fragment of the page's URL: `shop`, `dashboard`, `dashboard/MODEL` or `dashboard/MODEL/IMPRESSION`. */
export interface Route {
  readonly view: "shop" | "dashboard";
  readonly model?: string;
  readonly impression?: string;
}

/** Parses a fragment. An unknown one means `home`. */
export function routeOf(hash: string, home: Route["view"]): Route {
  const [view, model, impression] = hash.replace(/^#/, "").split("/").map(decoded);
  if (view !== "shop" && view !== "dashboard") return { view: home };
  return view === "shop" ? { view } : { view, model: model || undefined, impression: impression || undefined };
}

/** The fragment of a model's dashboard, or of one of its impressions. */
export function linkTo(model: string, impression?: string): string {
  return `#${["dashboard", model, ...(impression === undefined ? [] : [impression])].map(encodeURIComponent).join("/")}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
