// The chart of what the demo shop has lost by not showing each visitor's favourite first.

import { useMemo } from "hono/jsx/dom";
import type uPlot from "uplot";
import { SendVisitors } from "../shop/guide.tsx";
import type { Session } from "../shop/session.ts";
import { below, Chart, type ChartProps, fromZero, line, upwards, wholeTick } from "../ui/chart.tsx";
import { Empty } from "../ui/empty.tsx";
import { counted, decimal, whole } from "../ui/notation.ts";

function plot(): ReturnType<ChartProps["plot"]> {
  return {
    scales: { x: { time: false }, y: fromZero(1) },
    series: [{}, line("var(--accent)"), line("var(--quiet)", { dash: [4, 4] })],
    axes: [below({ space: 64, values: (_, ticks) => ticks.map(wholeTick) }), upwards(decimal)],
  };
}

/** Expected purchases lost because the first product shown was not the visitor's favourite. */
export function Regret({ session }: { session: Session }) {
  const { visits } = session;
  const count = visits.length;
  // The list only grows, so its length is enough to detect a change.
  const data = useMemo(
    () =>
      [
        [0, ...visits.map((_, i) => i + 1)],
        [0, ...visits.map(({ model }) => model)],
        [0, ...visits.map(({ uniform }) => uniform)],
      ] as uPlot.AlignedData,
    [count],
  );
  const last = visits.at(-1);
  return (
    <section class="wide regret">
      {last ? (
        <Chart
          id="regret"
          title="Purchases missed"
          summary={`After ${counted(count, "simulated visit")} the model has missed ${decimal(last.model)} purchases; a random product would have missed ${decimal(last.uniform)}. A purchase is missed when the first product is not the visitor's favourite.`}
          legend={[
            { mark: "policy", name: "this model" },
            { mark: "uniform", name: "a random product" },
          ]}
          plot={plot}
          data={data}
          describe={(index) =>
            `After ${whole(index)} visits: ${decimal(data[1][index] as number)} missed, at random ${decimal(data[2][index] as number)}`
          }
          table={() => ({
            columns: ["Visits", "This model", "A random product"],
            rows: visits.flatMap(({ model, uniform }, i) =>
              (i + 1) % 10 === 0 || i + 1 === count ? [[whole(i + 1), decimal(model), decimal(uniform)]] : [],
            ),
          })}
        />
      ) : (
        <Empty title="Purchases missed">
          Purchases lost because the first product shown is not the visitor's favourite. Send visitors to fill this chart.
        </Empty>
      )}
      <SendVisitors session={session} />
    </section>
  );
}
