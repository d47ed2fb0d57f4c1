import { SHOP_WINDOW_MS } from "./assortment.ts";
import { Estimates } from "./estimates.tsx";
import { Impressions } from "./impressions.tsx";
import type { Session } from "./session.ts";
import { Shelf } from "./shelf.tsx";

/** The demonstration shop: shelf, estimates and impressions. */
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
        The page asks for recommendations with the publishable key. The shop's backend reports purchases with signed webhooks. An impression
        is pending until its purchase is reported, and expires after {SHOP_WINDOW_MS / 60_000} minutes without one. The model does not wait:
        it learns the delay of purchases, and counts each pending impression by the share of purchases that should have arrived by now.
      </footer>
    </>
  );
}
