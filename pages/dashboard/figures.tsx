// The row of numbers at the head of a model's dashboard.

import type { Child } from "hono/jsx";
import type { Metrics } from "../../worker/protocol/metrics-answer.ts";
import type { Counts, Encoding } from "../../worker/protocol/model-answer.ts";
import { duration, percent, whole } from "../ui/notation.ts";

const groups: readonly { readonly title: string; readonly names: readonly (keyof Counts)[] }[] = [
  { title: "Impressions", names: ["impressions", "pending", "converted", "retracted", "expired"] },
  { title: "Conversion events", names: ["applied", "duplicate", "late", "conflict", "orphan"] },
];

/** A number with its name. `title` explains it, and `mark` is the class of its colour. */
export function Figure({ name, value, title, mark }: { name: string; value: Child; title?: string; mark?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={mark} title={title}>
        {value}
      </dd>
    </div>
  );
}

/** A model's counts, the lag of its registrations, and the age of its snapshot. */
export function Figures({ metrics }: { metrics: Metrics }) {
  const { counts, snapshot, lagMs, change, now } = metrics;
  const lag = lagMs === null ? "–" : duration(lagMs);
  const age = snapshot ? `${duration(snapshot.ageMs)} old` : "–";
  return (
    <section class="wide figures" aria-label="Counts">
      {groups.map(({ title, names }) => (
        <div key={title}>
          <h2>{title}</h2>
          <dl>
            {names.map((name) => (
              <Figure key={name} name={name === "impressions" ? "shown" : name} value={whole(counts[name])} mark={name} />
            ))}
          </dl>
        </div>
      ))}
      <div>
        <h2>Learner</h2>
        <dl>
          <Figure name="lag" value={lag} title="Time between showing and registering the newest impression" />
          <Figure name="snapshot" value={age} title={snapshot ? `Version ${snapshot.version}` : "None published yet"} />
        </dl>
        {change && (
          <p role="note">
            Rates have changed about {duration(Math.max(0, now - change.since))} ago, with a probability of {percent(change.probability)}.
            Impressions from before count less.
          </p>
        )}
      </div>
      {metrics.senders.length > 0 && <Orders senders={metrics.senders} />}
      {metrics.encoding && <Encoder {...metrics.encoding} />}
    </section>
  );
}

/** How many orders of each sender had an impression, on the newest day. */
function Orders({ senders }: Pick<Metrics, "senders">) {
  return (
    <div>
      <h2>Orders with an impression</h2>
      <dl>
        {senders.map(({ sender, days }) => {
          const texts = days.map(({ day, orders, attributed, ignored = {} }) => {
            const reasons = Object.entries(ignored).map(([reason, count]) => `, ${whole(count)} ignored: ${reason}`);
            return `${whole(attributed)} of ${whole(orders)} on ${day}${reasons.join("")}`;
          });
          return <Figure key={sender} name={sender} value={texts[0] ?? "none yet"} title={texts.join("; ")} />;
        })}
      </dl>
      {senders.map(
        ({ sender, finding }) =>
          finding && (
            <p key={sender} role="note">
              {finding}
            </p>
          ),
      )}
    </div>
  );
}

/** How full the encoder is, and the products that it cannot tell apart. */
function Encoder({ dimension, exact, shared, alike }: Encoding) {
  return (
    <div>
      <h2>Encoder</h2>
      <dl>
        <Figure
          name="own components"
          value={`${whole(exact)} of ${whole(dimension)}`}
          title="Components of a single term. All other terms share the rest"
        />
        <Figure name="sharing" value={whole(shared)} title="Categories of the catalogue without a component of their own" />
      </dl>
      {alike.length > 0 && (
        <p role="note">
          The encoder cannot tell these products apart: {alike.map((ids) => ids.join(" = ")).join("; ")}. Raise{" "}
          <code>encoder.dimension</code>.
        </p>
      )}
    </div>
  );
}
