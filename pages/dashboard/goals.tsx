import type { Metrics } from "../../worker/protocol/answers.ts";
import { duration, percent, whole } from "../ui/notation.ts";
import { Table } from "../ui/table.tsx";

type Goal = NonNullable<Metrics["goals"]>[number];

const COLUMNS = [
  "Goal",
  "Conversions",
  "Converted so far",
  "Once all windows end",
  "Still to come",
  "Half within",
  "95 % within",
  "Window",
];

/** The goals of a model, each with a button that chooses it. */
export function Goals(props: { goals: readonly Goal[]; chosen: string; choose: (goal: string) => void }) {
  const { goals, chosen, choose } = props;
  const rows = goals.map(({ goal, windowMs, delay }) => [
    <button key={goal} type="button" class="plain" aria-pressed={goal === chosen} onClick={() => choose(goal)}>
      {goal}
    </button>,
    ...(delay
      ? [
          whole(delay.conversions),
          percent(delay.rateSoFar),
          percent(delay.rate),
          whole(delay.toCome),
          half(delay),
          duration(delay.window95Ms),
        ]
      : ["none yet", "–", "–", "–", "–", "–"]),
    duration(windowMs),
  ]);
  return (
    <>
      <h2>Goals</h2>
      <div class="numbers">
        <Table columns={COLUMNS} rows={rows} />
      </div>
    </>
  );
}

/** The delay that half of the conversions do not exceed. */
function half({ quantiles }: NonNullable<Goal["delay"]>): string {
  const median = quantiles.find(({ share }) => share === 0.5);
  return median ? duration(median.delayMs) : "–";
}
