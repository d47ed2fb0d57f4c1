import { type Product, type Profile, products, profiles } from "./assortment.ts";
import type { Shown } from "./session.ts";

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
  if (status === "refused") return "the worker refused the purchase";
  if (status === "late") return "bought too late to count";
  if (status === "expired") return "expired without a purchase";
  return `pending, ${clock(windowEndsAt - now)} left`;
}
