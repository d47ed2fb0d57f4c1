import type { Metrics } from "../../worker/protocol/answers.ts";
import { duration, orFew, percent, whole } from "../ui/notation.ts";
import { Table } from "../ui/table.tsx";

type Goal = NonNullable<Metrics["goals"]>[number];

const COLUMNS = ["Goal", "Window", "Conversions", "Rate", "To come", "Half within", "95 % within"];

/** The goals of a model, each with a button that chooses it. */
export function Goals(props: { goals: readonly Goal[]; chosen: string; choose: (goal: string) => void }) {
  const { goals, chosen, choose } = props;
  const rows = goals.map(({ goal, windowMs, delay }) => [
    <button key={goal} type="button" class="plain" aria-pressed={goal === chosen ? "true" : "false"} onClick={() => choose(goal)}>
      {goal}
    </button>,
    duration(windowMs),
    ...(delay
      ? [whole(delay.conversions), orFew(delay.rate, percent), orFew(delay.toCome, whole), half(delay), orFew(delay.window95Ms, duration)]
      : ["none yet", "–", "–", "–", "–"]),
  ]);
  return (
    <>
      <h2>Goals</h2>
      <Table class="numbers unbroken" columns={COLUMNS} rows={rows} />
    </>
  );
}

/** The delay that half of the conversions do not exceed. */
function half({ quantiles }: NonNullable<Goal["delay"]>): string {
  const median = quantiles.find(({ share }) => share === 0.5);
  return median ? orFew(median.delayMs, duration) : "–";
}
