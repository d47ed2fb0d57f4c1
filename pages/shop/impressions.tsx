import type { Session } from "./session.ts";
import { productOf, profileOf, story } from "./story.ts";

const whole = new Intl.NumberFormat("en");

/** The model's counts, and the state of the impressions that this page has shown. */
export function Impressions({ session, now }: { session: Session; now: number }) {
  const { counts, shown } = session;
  return (
    <section aria-labelledby="impressions" class="impressions">
      <div>
        <h2 id="impressions">Impressions</h2>
        <dl class="counts">
          {(["pending", "converted", "expired"] as const).map((status) => (
            <div key={status} data-status={status}>
              <dt>
                <i data-status={status} /> {status}
              </dt>
              <dd>{counts ? whole.format(counts[status]) : "–"}</dd>
            </div>
          ))}
        </dl>
        <p class="strip" aria-hidden="true">
          {shown.map(({ impressionId, status }) => (
            <i key={impressionId} data-status={status} />
          ))}
        </p>
        <p class="quiet">Every product shown is an impression. A half-filled one is bought and waits for its webhook.</p>
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
