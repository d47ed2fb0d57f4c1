import type { Lift, Metrics } from "../../worker/protocol/answers.ts";
import { Marks } from "../ui/marks.tsx";
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

/** The policy's mean reward minus the holdout's, with its 95 % interval. */
export function LiftOf({ metrics: { model, lift, buckets } }: { metrics: Metrics }) {
  if (!lift) {
    const held = buckets.some(({ arm }) => arm === "holdout");
    return (
      <Empty title="Lift over the holdout">
        {held
          ? "The lift needs closed buckets of both the policy and the holdout. A bucket closes when its window and the time for late deliveries have passed."
          : `This model has no holdout. Set one with PUT /v1/models/${model} and holdout: 0.1. A tenth of impressions is then chosen at random.`}
      </Empty>
    );
  }
  const { policy, holdout, difference, interval, relative } = lift;
  const [low, high] = interval;
  const verdict =
    low > 0
      ? "The policy is better than random choice."
      : high < 0
        ? "The policy is worse than random choice."
        : "No clear difference yet: the interval contains zero.";
  const { place } = scaleOf([0, low, high]);
  const zero = { "--zero": place(0) };
  const places = { ...zero, "--low": place(low), "--high": place(high), "--mean": place(difference) };
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
          <Marks places={places} marks={["zero", "band", "mean"]} />
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
