// The panel that compares what the model believes with the truth, which only a simulation knows.

import { products } from "../../src/simulation/assortment.ts";
import { Legend, Marks } from "../ui/marks.tsx";
import { whole } from "../ui/notation.ts";
import { Head } from "../ui/table.tsx";
import type { ProductEvidence } from "./api.ts";
import { errorOf, waitingBand } from "./belief.ts";
import type { Session } from "./session.ts";
import { productOf, profileOf } from "./story.ts";

const legend = [
  { mark: "mean", name: "this recommender's estimate" },
  { mark: "waits", name: "one that waits: the truth is between the ends, 19 times in 20" },
  { mark: "taste", name: "truth, hidden from both" },
  { mark: "before", name: "before your last action" },
];

const UNKNOWN: Omit<ProductEvidence, "id"> = { belief: { mean: 0 }, closed: { impressions: 0, converted: 0 } };

/** Position on the chart, which shows 0 to 100 %. */
function place(value: number): string {
  return `${100 * Math.min(1, Math.max(0, value))}%`;
}

function percent(value: number): number {
  return Math.round(100 * value);
}

function Row({ session, product }: { session: Session; product: string }) {
  const { belief, closed } = session.estimates.find(({ id }) => id === product) ?? UNKNOWN;
  const { mean } = belief;
  const waiting = waitingBand(closed);
  const before = session.before.get(product) ?? mean;
  const taste = profileOf(session.profile).tastes[product];
  const change = percent(mean) - percent(before);
  return (
    <tr data-product={product}>
      <th scope="row">{productOf(product).name}</th>
      <td class="plot" aria-hidden="true">
        <Marks at={place} waits={waiting ?? [0, 1]} before={before} taste={taste} mean={mean} />
      </td>
      <td class="number">{percent(mean)} %</td>
      <td class="change" data-sign={Math.sign(change)}>
        {change === 0 ? "" : `${change > 0 ? "+" : "−"}${Math.abs(change)}`}
      </td>
      <td class="unseen waiting">{waiting ? waiting.map(percent).join(" to ") : "nothing known"}</td>
      <td class="unseen truth">{percent(taste)} %</td>
    </tr>
  );
}

/** How near the estimates are to the truth, and what a recommender that waits has learnt from. */
function Nearness({ session: { estimates, profile } }: { session: Session }) {
  const error = errorOf(estimates, profile);
  const closed = estimates.reduce((sum, each) => sum + each.closed.impressions, 0);
  return (
    <p class="quiet">
      {error !== null && (
        <>
          On average <b class="error">{percent(error)} points</b> from the truth.{" "}
        </>
      )}
      {closed === 0
        ? "One that waits: no window has closed yet."
        : `One that waits: ${whole(closed)} closed ${closed === 1 ? "window" : "windows"}.`}
    </p>
  );
}

/** The beliefs of the model and of a recommender that waits about each product for the visitor, beside the truth. */
export function Estimates({ session }: { session: Session }) {
  return (
    <section aria-labelledby="estimates" class="estimates">
      <div>
        <h2 id="estimates">How likely {profileOf(session.profile).name} buys each product</h2>
        <Nearness session={session} />
      </div>
      <table aria-labelledby="estimates">
        <Head class="unseen" columns={["Product", "Chart", "Estimate", "Change since your last action", "One that waits", "Truth"]} />
        <tbody>
          {products.map(({ id }) => (
            <Row key={id} session={session} product={id} />
          ))}
        </tbody>
        <tfoot aria-hidden="true">
          <tr>
            <td />
            <td class="axis">
              <div>
                <span class="tick">0</span>
                <span class="tick">50</span>
                <span class="tick">100 %</span>
              </div>
            </td>
          </tr>
        </tfoot>
      </table>
      <Legend entries={legend} />
    </section>
  );
}
