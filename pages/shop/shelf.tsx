// The shelf of the demo shop: a visitor, the recommended products, and their buttons.

import { profiles } from "../../src/simulation/assortment.ts";
import { Choice } from "../ui/choice.tsx";
import { Icon } from "../ui/icon.tsx";
import type { Session } from "./session.ts";
import type { Shown } from "./shown.ts";
import { productOf, profileOf, story } from "./story.ts";

const delays = [
  { label: "at once", value: 0 },
  { label: "in 10 s", value: 10_000 },
  { label: "in 1 min", value: 60_000 },
];

/** The text of a product's button, by its status. */
const labels = {
  pending: "Buy",
  bought: "Bought",
  converted: "Return",
  returned: "Returned",
  expired: "Expired",
  late: "Too late",
  refused: "Refused",
};
/** The shelf also shows what simulated visitors see and buy. */
const theirs = { ...labels, bought: "A visitor bought it", converted: "A visitor bought it" };

const euros = new Intl.NumberFormat("en", { style: "currency", currency: "EUR", maximumFractionDigits: 0 });

function Card({ session, shown, now }: { session: Session; shown: Shown; now: number }) {
  const { id, name, price, kind } = productOf(shown.product);
  const label = (shown.own ? labels : theirs)[shown.status];
  const returnable = shown.own && shown.status === "converted" && now <= shown.windowEndsAt;
  const press = shown.status === "pending" ? () => session.buy(shown) : () => void session.giveBack(shown);
  return (
    <li class={`card ${kind}`} data-status={shown.status}>
      <div class="picture">
        <Icon name={id} />
      </div>
      <h3>{name}</h3>
      <p class="price">{euros.format(price)}</p>
      <button type="button" aria-label={`${label}: ${name}`} disabled={shown.status !== "pending" && !returnable} onClick={press}>
        {label}
      </button>
      <p class="story">{story(shown, now)}</p>
    </li>
  );
}

/** Choice of the visitor, the recommended products, and when a purchase is reported. */
export function Shelf({ session, now }: { session: Session; now: number }) {
  return (
    <section aria-labelledby="shelf">
      <Choice
        name="profile"
        legend="You are"
        options={profiles.map(({ id, name }) => ({ label: name, value: id }))}
        chosen={session.profile}
        choose={(profile) => void session.choose(profile)}
      />
      <div class="bar">
        <h2 id="shelf">Recommended for {profileOf(session.profile).name}</h2>
        <button type="button" class="plain" onClick={() => void session.visit()}>
          Next visit
        </button>
      </div>
      <ul class="shelf">
        {session.shelf.map((shown) => (
          <Card key={shown.impressionId} session={session} shown={shown} now={now} />
        ))}
      </ul>
      <Choice
        name="delay"
        legend="Your purchases are reported"
        options={delays}
        chosen={session.delayMs}
        choose={(delayMs) => session.chooseDelay(delayMs)}
      />
    </section>
  );
}
