import { type Product, type Profile, products, profiles } from "../../src/simulation/assortment.ts";
import type { Session } from "./session.ts";
import type { Shown } from "./shown.ts";

export function productOf(id: string): Product {
  return products.find((product) => product.id === id) as Product;
}

export function profileOf(id: string): Profile {
  return profiles.find((profile) => profile.id === id) as Profile;
}

function clock(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The status of an impression, as a phrase. */
export function story({ status, shownAt, windowEndsAt, reportAt = 0, settledAt = 0 }: Shown, now: number): string {
  if (status === "bought") return now < reportAt ? `bought, webhook in ${clock(reportAt - now)}` : "bought, webhook on its way";
  if (status === "converted") return `converted after ${clock(settledAt - shownAt)}`;
  if (status === "returned") return "returned: it counts as no purchase";
  if (status === "refused") return "the worker refused the purchase";
  if (status === "late") return "bought too late to count";
  if (status === "expired") return "expired without a purchase";
  return `pending, ${clock(windowEndsAt - now)} left`;
}

/** With more visits than these, a reader who buys nothing moves the estimates away from the tastes. */
const MANY_LOOKS = 5;

/** Where the story of the visitors stands, as a sentence. It changes rarely, because screen readers announce it. */
export function stage(session: Pick<Session, "visitorsLeft" | "visits" | "shown" | "counts" | "looks">): string {
  const { visitorsLeft, visits, shown, counts, looks } = session;
  if (visitorsLeft > 0) return "Visitors are coming.";
  if (shown.some(({ status }) => status === "bought")) return "Purchases are on their way. Watch the estimates move towards the truth.";
  if (looks > MANY_LOOKS) return "You have looked often and bought nothing. The recommender learns from you too, so its estimates fall.";
  if (visits.length > 0) return "All purchases are reported. Send more visitors, and the estimates come nearer.";
  if (counts && counts.converted > 0) return "The recommender remembers earlier visitors. Start over to see it learn from nothing.";
  return "Nothing is known yet. Send visitors.";
}
