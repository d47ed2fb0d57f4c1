import { SHOP_WINDOW_MS } from "./assortment.ts";
import { Estimates } from "./estimates.tsx";
import { Impressions } from "./impressions.tsx";
import type { Session } from "./session.ts";
import { Shelf } from "./shelf.tsx";

/** The demonstration shop: who visits, what the model expects of them, and what becomes of what it shows. */
export function Shop({ session, now }: { session: Session; now: number }) {
  return (
    <>
      <p class="problem" role="status">
        {session.problem}
      </p>
      <div class="columns">
        <Shelf session={session} now={now} />
        <Estimates session={session} />
        <Impressions session={session} now={now} />
      </div>
      <footer>
        The page asks for recommendations with the publishable key; the shop's backend reports purchases as signed webhooks. An impression
        is pending until its purchase is reported, and expires after {SHOP_WINDOW_MS / 60_000} minutes without one. The model does not wait
        for that: it counts every impression for as much as should have come of it by now, which it learns from the purchases so far.
      </footer>
    </>
  );
}
