import { useMemo } from "hono/jsx/dom";
import type uPlot from "uplot";
import { below, Chart, type ChartProps, colour, upwards } from "../../ui/chart.tsx";
import { decimal, whole } from "../../ui/notation.ts";
import type { MatchReport, PlayerReport } from "../match.ts";

/** Rows of a table of numbers, about. */
const ROWS = 20;

/** The dash of each policy's line, so that lines differ by more than colour. */
const dashes: readonly (number[] | undefined)[] = [undefined, [9, 4], [3, 3], [12, 3, 3, 3], [6, 6]];

export function lineOf(place: number): uPlot.Series {
  return { stroke: (chart) => colour(chart, `var(--p${place})`), width: 2, dash: dashes[place], points: { show: false } };
}

const ticked = (tick: number): string => (Number.isInteger(tick) ? whole(tick) : "");

function plotOf(report: MatchReport): ReturnType<ChartProps["plot"]> {
  return {
    scales: { x: { time: false, range: [0, report.rounds] }, y: { range: (_, __, most) => [0, 1.1 * Math.max(1, most)] } },
    series: [{}, ...report.players.map((_, place) => lineOf(place))],
    axes: [below({ space: 64, values: (_, ticks) => ticks.map(ticked) }), upwards(ticked)],
  };
}

interface CurveProps {
  readonly report: MatchReport;
  readonly id: "regret" | "pending" | "counted" | "late";
  readonly title: string;
  /** @param values the last value of each policy, as text. */
  summary(values: string): string;
}

/** One quantity over the rounds, a line per policy. */
function Curve({ report, id, title, summary }: CurveProps) {
  const { players, sampled, round } = report;
  const valuesOf = (player: PlayerReport) => player[id];
  const data = useMemo(() => [sampled, ...players.map(valuesOf)] as unknown as uPlot.AlignedData, [report]);
  const at = (index: number) => players.map((player) => `${player.name} ${decimal(valuesOf(player)[index])}`).join(", ");
  const every = Math.ceil(sampled.length / ROWS);
  return (
    <Chart
      id={id}
      title={title}
      summary={summary(at(sampled.length - 1))}
      plot={() => plotOf(report)}
      data={data}
      describe={(index) => `Round ${whole(sampled[index])}: ${at(index)}`}
      table={() => ({
        columns: ["Round", ...players.map(({ name }) => name)],
        rows: sampled.flatMap((each, i) =>
          i % every === 0 || each === round ? [[whole(each), ...players.map((player) => decimal(valuesOf(player)[i]))]] : [],
        ),
      })}
    />
  );
}

/** Regret over the rounds. */
export function Curves({ report }: { report: MatchReport }) {
  return (
    <section class="card main">
      <Curve
        report={report}
        id="regret"
        title="Conversions missed"
        summary={(values) => `Expected, compared with the best choice of each round: ${values}.`}
      />
      <ul class="legend">
        {report.players.map(({ name }, place) => (
          <li key={name}>
            <i class={`mark p${place}`} /> {name}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Pending impressions and arrived outcomes over the rounds. */
export function Arrivals({ report }: { report: MatchReport }) {
  return (
    <div class="arrivals">
      <section class="card">
        <Curve
          report={report}
          id="pending"
          title="Pending impressions"
          summary={(values) => `Inside the window, outcome unknown: ${values}.`}
        />
      </section>
      <section class="card">
        <Curve report={report} id="counted" title="Arrived in time" summary={(values) => `Inside the window, so they count: ${values}.`} />
      </section>
      <section class="card">
        <Curve
          report={report}
          id="late"
          title="Arrived too late"
          summary={(values) => `After the window, so they do not count: ${values}.`}
        />
      </section>
    </div>
  );
}
