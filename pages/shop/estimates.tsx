import { useState } from "hono/jsx/dom";
import { Legend, Marks } from "../ui/marks.tsx";
import { Head } from "../ui/table.tsx";
import { products } from "./assortment.ts";
import type { Session } from "./session.ts";
import { productOf, profileOf } from "./story.ts";

const legend = [
  { mark: "mean", name: "mean" },
  { mark: "band", name: "the true rate is here, at odds of 19 to 1" },
  { mark: "before", name: "mean before your last action" },
];

/** Position on the chart, which shows 0 to 100 %. */
function place(value: number): string {
  return `${100 * Math.min(1, Math.max(0, value))}%`;
}

function percent(value: number): number {
  return Math.round(100 * value);
}

function Row({ session, product, revealed }: { session: Session; product: string; revealed: boolean }) {
  const { mean, low, high } = session.estimates.find(({ id }) => id === product)?.belief ?? { mean: 0, low: 0, high: 1 };
  const before = session.before.get(product) ?? mean;
  const change = percent(mean) - percent(before);
  const places = {
    "--low": place(low),
    "--high": place(high),
    "--mean": place(mean),
    "--before": place(before),
    "--taste": place(profileOf(session.profile).tastes[product]),
  };
  return (
    <tr data-product={product}>
      <th scope="row">{productOf(product).name}</th>
      <td class="plot" aria-hidden="true">
        <Marks places={places} marks={["band", "before", ...(revealed ? ["taste"] : []), "mean"]} />
      </td>
      <td class="number">
        {percent(mean)} %{" "}
        <small>
          {percent(low)} to {percent(high)}
        </small>
      </td>
      <td class="change" data-sign={Math.sign(change)}>
        {change === 0 ? "" : `${change > 0 ? "+" : "−"}${Math.abs(change)}`}
      </td>
    </tr>
  );
}

/** The model's estimate of each product's rate for the visitor, now and before the last action. */
export function Estimates({ session }: { session: Session }) {
  const [revealed, reveal] = useState(false);
  return (
    <section aria-labelledby="estimates">
      <h2 id="estimates">Expected purchase rates for {profileOf(session.profile).name}</h2>
      <p class="quiet">Probability that a shown product is bought</p>
      <table aria-labelledby="estimates">
        <Head class="unseen" columns={["Product", "Chart", "Mean and interval", "Change since your last action"]} />
        <tbody>
          {products.map(({ id }) => (
            <Row key={id} session={session} product={id} revealed={revealed} />
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
            <td />
            <td />
          </tr>
        </tfoot>
      </table>
      <Legend entries={revealed ? [...legend, { mark: "taste", name: "true taste" }] : legend} />
      <label class="reveal">
        <input type="checkbox" checked={revealed} onChange={() => reveal(!revealed)} />
        Show the simulated visitors' true tastes, hidden from the model
      </label>
    </section>
  );
}
