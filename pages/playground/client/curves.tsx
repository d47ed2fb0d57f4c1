// The line charts of a match, one line for each policy.

import { useMemo } from "hono/jsx/dom";
import type uPlot from "uplot";
import { below, Chart, type ChartProps, fromZero, line, upwards, wholeTick } from "../../ui/chart.tsx";
import { Legend } from "../../ui/marks.tsx";
import { decimal, whole } from "../../ui/notation.ts";
import type { MatchReport } from "../match.ts";

/** Rows of a table of numbers, about. */
const ROWS = 20;

/** The dash of each policy's line, so that lines differ by more than colour. */
const dashes: readonly (number[] | undefined)[] = [undefined, [9, 4], [3, 3], [12, 3, 3, 3], [6, 6]];

function plotOf(report: MatchReport): ReturnType<ChartProps["plot"]> {
  return {
    scales: { x: { time: false, range: [0, report.rounds] }, y: fromZero(1) },
    series: [{}, ...report.players.map((_, place) => line(`var(--p${place})`, { dash: dashes[place] }))],
    axes: [below({ space: 64, values: (_, ticks) => ticks.map(wholeTick) }), upwards(wholeTick)],
  };
}

interface CurveProps {
  readonly report: MatchReport;
  readonly id: "regret" | "pending" | "counted" | "late";
  readonly title: string;
  /** The last value of each policy follows. */
  readonly meaning: string;
}

/** One quantity over the rounds, a line per policy. */
function Curve({ report, id, title, meaning }: CurveProps) {
  const { players, sampled, round } = report;
  const data = useMemo(() => [sampled, ...players.map((player) => player[id])] as unknown as uPlot.AlignedData, [report]);
  const at = (index: number) => players.map((player) => `${player.name} ${decimal(player[id][index])}`).join(", ");
  const every = Math.ceil(sampled.length / ROWS);
  return (
    <Chart
      id={id}
      title={title}
      summary={`${meaning}: ${at(sampled.length - 1)}.`}
      plot={() => plotOf(report)}
      data={data}
      describe={(index) => `Round ${whole(sampled[index])}: ${at(index)}`}
      table={() => ({
        columns: ["Round", ...players.map(({ name }) => name)],
        rows: sampled.flatMap((each, i) =>
          i % every === 0 || each === round ? [[whole(each), ...players.map((player) => decimal(player[id][i]))]] : [],
        ),
      })}
    />
  );
}

/** Regret over the rounds. */
export function Curves({ report }: { report: MatchReport }) {
  return (
    <section class="main">
      <Curve report={report} id="regret" title="Conversions missed" meaning="Expected, compared with the best choice of each round" />
      <Legend entries={report.players.map(({ name }, place) => ({ mark: `mark p${place}`, name }))} />
    </section>
  );
}

const arrivals = [
  ["pending", "Pending impressions", "Inside the window, outcome unknown"],
  ["counted", "Arrived in time", "Inside the window, so they count"],
  ["late", "Arrived too late", "After the window, so they do not count"],
] as const;

/** Pending impressions and arrived outcomes over the rounds. */
export function Arrivals({ report }: { report: MatchReport }) {
  return (
    <div class="arrivals">
      {arrivals.map(([id, title, meaning]) => (
        <section key={id}>
          <Curve report={report} id={id} title={title} meaning={meaning} />
        </section>
      ))}
    </div>
  );
}
