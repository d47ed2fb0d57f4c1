import { SHOP_WINDOW_MS } from "../../src/simulation/assortment.ts";
import { counted } from "../ui/notation.ts";
import type { Session } from "./session.ts";
import { profileOf, stage } from "./story.ts";

/** Visitors of one simulation. */
const VISITORS = 200;

/** Starts a simulation. */
export function SendVisitors({ session }: { session: Session }) {
  const { visitorsLeft } = session;
  return (
    <button type="button" class="primary" disabled={visitorsLeft > 0} onClick={() => void session.simulate(VISITORS)}>
      {visitorsLeft > 0 ? `${counted(visitorsLeft, "visitor")} left` : `Send ${VISITORS} visitors`}
    </button>
  );
}

/** What happens in this shop, and what to press. */
export function Guide({ session }: { session: Session }) {
  return (
    <section class="wide guide" aria-labelledby="guide">
      <div class="lead">
        <h2 id="guide">It learns before the answers are in</h2>
        <p>
          Each visitor sees three products. A purchase is reported seconds later. Until then the product is <b>pending</b>: nobody knows.
          Most recommenders wait until its window of {SHOP_WINDOW_MS / 60_000} minutes has closed. This one learns at once.
        </p>
      </div>
      <ol class="steps">
        <li>
          <SendVisitors session={session} />
          <p>They buy by tastes that the recommender cannot see.</p>
        </li>
        <li>
          <b>Buy a product, and return it</b>
          <p>Press Buy as {profileOf(session.profile).name}. The report comes later and moves the estimate. A return moves it back.</p>
        </li>
        <li>
          <a href="/#dashboard">Open dashboard</a>
          <p>It shows the same counts, and why each product was shown.</p>
        </li>
      </ol>
      <p class="stage">
        <span role="status">{stage(session)}</span>{" "}
        <button type="button" class="plain" disabled={session.visitorsLeft > 0} onClick={() => void session.startOver()}>
          Start over
        </button>
      </p>
    </section>
  );
}
