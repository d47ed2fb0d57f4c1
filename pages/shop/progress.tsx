// The panel that shows whether the shop's visitors see their favourite first more often than before.

import { products } from "../../src/simulation/assortment.ts";
import { counted, whole } from "../ui/notation.ts";
import type { Visit } from "./crowd.ts";
import type { Session } from "./session.ts";

/** Visits that the share counts, and visits of one bar. */
const LAST = 50;
const PER_BAR = 25;
const BARS = 12;

const counters = [
  { name: "impressions", term: "shown", meaning: "one impression each" },
  { name: "pending", term: "pending", meaning: "nobody knows yet" },
  { name: "converted", term: "converted", meaning: "bought and reported" },
  { name: "expired", term: "expired", meaning: "not bought in time" },
] as const;

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

function shareOf(visits: readonly Visit[]): number {
  return visits.filter(({ favourite }) => favourite).length / visits.length;
}

/** The share of visits in each run of `PER_BAR` that began with the visitor's favourite, oldest first. */
function bars(visits: readonly Visit[]): number[] {
  const runs = Math.ceil(visits.length / PER_BAR);
  return Array.from({ length: runs }, (_, run) => shareOf(visits.slice(run * PER_BAR, (run + 1) * PER_BAR))).slice(-BARS);
}

/** The model's counts, and how often visitors saw their favourite first. */
export function Progress({ session: { counts, visits } }: { session: Session }) {
  const last = visits.slice(-LAST);
  return (
    <dl class="wide counts">
      {counters.map(({ name, term, meaning }) => (
        <div key={name} data-status={name}>
          <dt>
            {name !== "impressions" && <i data-status={name} />} {term}
          </dt>
          <dd>{counts ? whole(counts[name]) : "–"}</dd>
          <dd class="quiet">{meaning}</dd>
        </div>
      ))}
      <div class="favourites">
        <dt>favourite shown first</dt>
        <dd>
          {last.length > 0 ? percent(shareOf(last)) : "–"}
          <span class="bars" aria-hidden="true">
            {bars(visits).map((share, i) => (
              <i key={i} style={{ "--share": `${100 * share}%` }} />
            ))}
          </span>
        </dd>
        <dd class="quiet">
          {last.length > 0 ? `of the last ${counted(last.length, "visitor")}` : "of the visitors you send"}; {percent(1 / products.length)}{" "}
          at random
        </dd>
      </div>
    </dl>
  );
}
