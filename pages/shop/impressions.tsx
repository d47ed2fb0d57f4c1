import type { Session } from "./session.ts";
import { productOf, profileOf, story } from "./story.ts";

/** The state of the impressions that this page has shown. */
export function Impressions({ session, now }: { session: Session; now: number }) {
  return (
    <section aria-labelledby="impressions" class="impressions">
      <div>
        <h2 id="impressions">Every product shown is an impression</h2>
        <p class="strip" aria-hidden="true">
          {session.shown.map(({ impressionId, status }) => (
            <i key={impressionId} data-status={status} />
          ))}
        </p>
        <p class="quiet">
          Hollow: pending. Half filled: bought, and its report is on the way. Green: converted. Grey: expired without a purchase.
        </p>
      </div>
      <ol class="recent">
        {session.recent().map((each) => (
          <li key={each.impressionId} data-status={each.status}>
            <i data-status={each.status} />
            <span>
              <b>{productOf(each.product).name}</b> for {profileOf(each.profile).name}
            </span>
            <span class="story">{story(each, now)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
