// The card of the lift: what the policy gains over the holdout. The worker computes it, and the card only words it.

import type { GoalLift, Metrics } from "../../worker/protocol/metrics-answer.ts";
import { Empty } from "../ui/empty.tsx";
import { Marks } from "../ui/marks.tsx";
import { duration, needed, percent, signedPercent, whole } from "../ui/notation.ts";
import { asOf } from "./as-of.ts";
import { Figure } from "./figures.tsx";
import { scaleOf } from "./scale.ts";

function Arm({ name, arm: { rate, lists, impressions, conversions } }: { name: string; arm: GoalLift["policy"] }) {
  const counted = `${whole(conversions)} of ${whole(impressions)} in ${whole(lists)} lists`;
  const value = (
    <>
      {rate === null ? "–" : percent(rate)} <small>{counted}</small>
    </>
  );
  return <Figure name={name} value={value} />;
}

/** The policy's conversion rate minus the holdout's, for each goal, with an interval that holds at all looks together. */
export function LiftOf({ metrics: { model, lift, now } }: { metrics: Metrics }) {
  if (!lift) {
    return (
      <Empty title="Lift over the holdout">
        This model has no holdout. Set one with PATCH /v1/models/{model} and {'{ "holdout": 0.1 }'}. A tenth of lists is then ranked at
        random.
      </Empty>
    );
  }
  const { goals, unassigned } = lift;
  return (
    <>
      {goals.map((goal) => (
        <OfGoal
          key={goal.goal}
          lift={goal}
          now={now}
          title={goals.length > 1 ? `Lift over the holdout: ${goal.goal}` : "Lift over the holdout"}
        />
      ))}
      {unassigned > 0 && (
        <p class="quiet">
          {whole(unassigned)} registered, imported or pinned impressions are left out, because this model did not assign them.
        </p>
      )}
    </>
  );
}

function OfGoal({ lift, title, now }: { lift: GoalLift; title: string; now: number }) {
  const { policy, holdout, currency, shares, windowMs, withinMs, basis } = lift;
  return (
    <div class="lift">
      <div class="half">
        <h2>{title}</h2>
        <p class="quiet">
          {asOf(lift.completeUntil, now)}
          {verdictOf(lift)}
        </p>
        <dl>
          <Arm name="policy" arm={policy} />
          <Arm name="holdout, random" arm={holdout} />
        </dl>
        {currency !== null && <p class="quiet">Conversions are compared, not amounts in {currency}.</p>}
        {withinMs < windowMs && (
          <p class="quiet">No impression is as old as the window yet: rates count conversions within {duration(withinMs)}.</p>
        )}
        {basis === "closed windows" && (
          <p class="quiet">
            Lists count once their windows have closed: policy and holdout differ in their delays, or products do and too few conversions
            tell how.
          </p>
        )}
        {shares.length > 1 && (
          <p class="quiet">The holdout has had {whole(shares.length)} shares. Rates are compared within each, and averaged.</p>
        )}
        {shares.some(({ compared }) => !compared) && (
          <p class="quiet">A share tells nothing while an arm has fewer than two matured lists.</p>
        )}
      </div>
      <Stated lift={lift} />
    </div>
  );
}

function verdictOf({ difference }: GoalLift): string {
  if ("tooFew" in difference) return "Too few conversions yet.";
  const { low, high } = difference;
  if (low > 0) return "The policy is better than random choice.";
  return high < 0 ? "The policy is worse than random choice." : "No clear difference yet: the interval contains zero.";
}

/** Formats a difference of rates in percentage points. */
const points = (difference: number): string => signedPercent(difference).replace(" %", " points");

function Stated({ lift: { difference, relative } }: { lift: GoalLift }) {
  if ("tooFew" in difference) {
    return (
      <div class="half">
        <p class="quiet">Too few: about {needed(difference.tooFew)}</p>
      </div>
    );
  }
  const { value, low, high } = difference;
  const { place } = scaleOf([0, low, high]);
  return (
    <div class="half">
      <p>
        <strong>{points(value)}</strong>
        {relative === null ? "" : `, ${signedPercent(relative)} of the holdout's rate`}
      </p>
      <div class="plot" aria-hidden="true">
        <Marks at={place} zero={0} band={[low, high]} mean={value} />
      </div>
      <div class="line" style={{ "--at": place(0) }} aria-hidden="true">
        <span>0</span>
      </div>
      <p class="quiet">
        95 % interval at all looks {points(low)} to {points(high)}
      </p>
    </div>
  );
}
