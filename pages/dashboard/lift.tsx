import type { Lift, Metrics } from "../../worker/protocol/answers.ts";
import { decimal, signed, whole } from "../ui/notation.ts";
import { Empty } from "./empty.tsx";
import { scaleOf } from "./scale.ts";

function Mean({ name, arm }: { name: string; arm: Lift["policy"] }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {decimal(arm.mean)} <small>over {whole(arm.impressions)}</small>
      </dd>
    </div>
  );
}

/** How much better the policy does than choosing uniformly, and how sure that is. */
export function LiftOf({ metrics: { model, lift, buckets } }: { metrics: Metrics }) {
  if (!lift) {
    const held = buckets.some(({ arm }) => arm === "holdout");
    return (
      <Empty title="Lift over the holdout">
        {held
          ? "It needs impressions of both arms whose books are closed: their window, and the time for late deliveries, must have passed."
          : `There is nothing to compare with. Give the model a holdout, a share of impressions that are chosen at random: PUT /v1/models/${model} with holdout: 0.1.`}
      </Empty>
    );
  }
  const { policy, holdout, difference, interval, relative } = lift;
  const [low, high] = interval;
  const verdict =
    low > 0
      ? "The policy does better than chance."
      : high < 0
        ? "The policy does worse than chance."
        : "Not decided yet: the interval holds zero.";
  const { place } = scaleOf([0, low, high]);
  const zero = { "--zero": place(0) };
  return (
    <div class="lift">
      <div class="half">
        <h2>Lift over the holdout</h2>
        <p class="quiet">{verdict}</p>
        <dl>
          <Mean name="policy" arm={policy} />
          <Mean name="holdout, uniform" arm={holdout} />
        </dl>
      </div>
      <div class="half">
        <p>
          <strong>{signed(difference)}</strong> reward per impression
          {relative === null ? "" : `, ${signed(Math.round(100 * relative))} % of the holdout's`}
        </p>
        <div class="plot" aria-hidden="true">
          <div style={{ ...zero, "--low": place(low), "--high": place(high), "--mean": place(difference) }}>
            <i class="zero" />
            <i class="band" />
            <i class="mean" />
          </div>
        </div>
        <div class="line" style={zero} aria-hidden="true">
          <span>0</span>
        </div>
        <p class="quiet">
          95 % interval {signed(low)} to {signed(high)}
        </p>
      </div>
    </div>
  );
}
