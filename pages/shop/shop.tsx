import { clockSkew } from "../ui/clock-skew.ts";
import { Estimates } from "./estimates.tsx";
import { Guide } from "./guide.tsx";
import { Impressions } from "./impressions.tsx";
import { Progress } from "./progress.tsx";
import type { Session } from "./session.ts";
import { Shelf } from "./shelf.tsx";

/** The demonstration shop: a guide, counts, the shelf of one visitor, estimates and impressions. */
export function Shop({ session, now }: { session: Session; now: number }) {
  return (
    <>
      <p class="problem" role="status">
        {session.problem || clockSkew(session.aheadMs)}
      </p>
      <div class="columns">
        <Guide session={session} />
        <Progress session={session} />
        <Shelf session={session} now={now} />
        <Estimates session={session} />
        <Impressions session={session} now={now} />
      </div>
      <footer>
        The page asks for recommendations with the publishable key, as any shop's page would. The shop's backend reports purchases with
        signed webhooks. The recommender learns how late purchases come, and counts each pending product by the share of purchases that
        should have arrived by now.
      </footer>
    </>
  );
}
