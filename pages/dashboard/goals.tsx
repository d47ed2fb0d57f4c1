// The table of goals: how many conversions each has and will have, how late they come, and the money of orders.

import type { Metrics } from "../../worker/protocol/metrics-answer.ts";
import type { Reached } from "../../worker/protocol/model-answer.ts";
import { amount, duration, orFew, percent, whole } from "../ui/notation.ts";
import { Table } from "../ui/table.tsx";

type Goal = NonNullable<Metrics["goals"]>[number];

const COLUMNS = ["Goal", "Window", "Converted so far", "Conversions", "Rate", "To come", "Half within", "95 % within"];

/** The goals of a model, each with a button that chooses it. */
export function Goals(props: { goals: readonly Goal[]; reached: readonly Reached[]; chosen: string; choose: (goal: string) => void }) {
  const { goals, reached, chosen, choose } = props;
  const rows = goals.map(({ goal, windowMs, delay }) => [
    <button key={goal} type="button" class="plain" aria-pressed={goal === chosen ? "true" : "false"} onClick={() => choose(goal)}>
      {goal}
    </button>,
    duration(windowMs),
    soFar(reached.find((each) => each.goal === goal)),
    ...(delay && delay.conversions > 0
      ? [whole(delay.conversions), ...soon(delay, windowMs), half(delay), orFew(delay.window95Ms, duration)]
      : ["none yet", "–", "–", "–", "–"]),
  ]);
  return (
    <>
      <h2>Goals</h2>
      <Table class="numbers unbroken" columns={COLUMNS} rows={rows} />
      <Money reached={reached} />
    </>
  );
}

/** The rate and the conversions to come, as far as they are known. */
function soon({ rate, toCome, followedMs }: NonNullable<Goal["delay"]>, windowMs: number): string[] {
  const part = followedMs < windowMs ? ` within ${duration(followedMs)}` : "";
  return [percent(rate) + part, whole(toCome) + part];
}

/** Impressions that have reached a goal, and their share. */
function soFar(reached: Reached | undefined): string {
  if (!reached) return "–";
  const { converted, rateSoFar, weight } = reached;
  const share = rateSoFar === null ? "" : `, ${percent(rateSoFar)}`;
  return `${whole(converted)}${share}${weight === 0 ? ", counts for nothing itself" : ""}`;
}

/** Orders, refunds and what is left of them, of the goals with amounts. */
function Money({ reached }: { reached: readonly Reached[] }) {
  const rows = reached.flatMap(({ goal, amounts }) => {
    if (!amounts) return [];
    const { currency, orders, refunds, paid, refunded, net } = amounts;
    return [
      [goal, `${whole(orders)} of ${amount(paid, currency)}`, `${whole(refunds)} of ${amount(refunded, currency)}`, amount(net, currency)],
    ];
  });
  if (rows.length === 0) return null;
  return <Table class="numbers unbroken" columns={["Goal", "Orders", "Refunds", "Net"]} rows={rows} />;
}

/** The delay that half of the conversions do not exceed. */
function half({ quantiles }: NonNullable<Goal["delay"]>): string {
  const median = quantiles.find(({ share }) => share === 0.5);
  return median ? orFew(median.delayMs, duration) : "–";
}
