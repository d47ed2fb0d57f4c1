// The warning above a dashboard when expected conversions have stopped.

import type { Delay, Metrics } from "../../worker/protocol/metrics-answer.ts";
import { duration, whole } from "../ui/notation.ts";

interface Silent {
  /** Absent if the silence is that of all conversions. */
  readonly goal?: string;
  readonly silence: Delay["silence"];
}

/** The goals whose conversions have stopped. If no goal alone tells so, all conversions together may. */
function silentOf({ delay, goals }: Metrics): Silent[] {
  const named = (goals ?? []).flatMap((each) => (each.delay ? [{ goal: each.goal, silence: each.delay.silence }] : []));
  const silent = named.filter(({ silence }) => silence.alarm);
  return silent.length === 0 && delay?.silence.alarm ? [{ silence: delay.silence }] : silent;
}

/** Alerts that expected conversions have stopped, and lists what to check. */
export function Alarm({ metrics }: { metrics: Metrics }) {
  const { model, now } = metrics;
  const silent = silentOf(metrics);
  if (silent.length === 0) return null;
  const names = silent.flatMap(({ goal }) => goal ?? []).join(", ");
  return (
    <section class="wide alarm">
      {/* Changing numbers stay outside the alert: a screen reader would repeat them at every refresh. */}
      <h2 role="alert">
        Conversions of {model} have stopped{names && `: ${names}`}
      </h2>
      {silent.map(({ goal, silence: { since, expected, chance } }) => (
        <p key={goal}>
          {goal === undefined ? "None" : `No ${goal}`} has arrived for {duration(now - since)}, though about {whole(expected)} were
          expected. By chance alone this happens once in {whole(Number((1 / Math.max(chance, 1e-9)).toPrecision(1)))} times.
        </p>
      ))}
      <p>Either visitors can no longer convert, or the shop's webhooks do not arrive. Check:</p>
      <ul>
        <li>Can a visitor still buy? Place a test order.</li>
        <li>
          Does the shop still send to POST /v1/conversions? Look at its webhook queue or log, and at the answers it got. The alarm knows the
          shop's nights, daily batches and weekends, but no public holidays.
        </li>
        <li>
          Does the worker answer 401? Then the shop's secret is not in AFTERCLICK_WEBHOOK_SECRET, its clock is more than five minutes off,
          or the impression id was not signed by this worker.
        </li>
        <li>Does it answer 202? Then look at the status of each item: refused and unknown items do not count.</li>
        <li>Does the shop still pass the impression id or the join key from the page that shows the recommendation to the webhook?</li>
      </ul>
    </section>
  );
}

/** Explains a silence of simulated visitors, who buy only when somebody sends them. It is no alarm. */
export function Calm({ metrics }: { metrics: Metrics }) {
  const [silent] = silentOf(metrics);
  if (!silent) return null;
  return (
    <p class="about quiet">
      Nobody has bought for {duration(metrics.now - silent.silence.since)}. In a real shop, this long a silence would raise an alarm here.
      These visitors are simulated, and buy only when you send them.
    </p>
  );
}
