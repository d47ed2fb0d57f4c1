/** What became of a request. */
export interface Delivery {
  /** `waiting`: the same items go again later. */
  readonly status: "delivered" | "refused" | "waiting";
  /** The text of the answer. */
  readonly answer?: string;
  /** What somebody has to mend before the items can arrive. */
  readonly remedy?: string;
}

/** Refusals of the content, which would not change. */
const REFUSED = [400, 413, 422];
/** Refusals, besides 5xx, that pass by themselves. */
const PASSING = [408, 425, 429];

/**
 * Sends items. Only 202, 204 and the worker's own answer are a delivery: a site may answer any address with a page, and a redirection
 * turns a POST into a GET.
 */
export async function deliver(url: string, init: RequestInit): Promise<Delivery> {
  const response = await fetch(url, { ...init, redirect: "manual" }).catch(() => undefined);
  if (!response || response.status >= 500 || PASSING.includes(response.status)) return { status: "waiting" };
  const { ok, status, type } = response;
  if (status === 202 || status === 204) return { status: "delivered" };
  const text = await response.text().catch(() => undefined);
  if (ok && (text === undefined || isWorkers(text))) return { status: text === undefined ? "waiting" : "delivered" };
  // A page gets no status of a redirection.
  const answer = `${url} answered ${type === "opaqueredirect" ? "with a redirection" : `${status}: ${text?.slice(0, 200) ?? ""}`}`;
  return REFUSED.includes(status) ? { status: "refused", answer } : { status: "waiting", answer, remedy: remedyOf(ok ? 200 : status) };
}

/** Whether an answer is the worker's to impressions or conversions, which a shop may pass on. */
function isWorkers(text: string): boolean {
  try {
    const { impressions, conversions } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return Array.isArray(impressions ?? conversions);
  } catch {
    return false;
  }
}

function remedyOf(status: number): string {
  if (status === 200) return "This is no delivery: let a route for POST take the items, and answer 204";
  if (status < 400) return "A redirection loses the items: name the address that it leads to";
  if (status === 401 || status === 403) return "Check the key and the allowed origins, or exempt the route from sign-in and CSRF checks";
  return "No route takes this POST: correct the address, or add the route";
}
