// The card of one policy in a match: what it chose, and what it believes.

import { useMemo } from "hono/jsx/dom";
import uPlot from "uplot";
import { below, Chart, type ChartProps, colour, line, upwards } from "../../ui/chart.tsx";
import { decimal, percent, whole } from "../../ui/notation.ts";
import { contenders } from "../contender.ts";
import type { MatchReport, PlayerReport } from "../match.ts";
import type { Settings } from "../settings.ts";
import { DEVIATIONS, LinearEstimate } from "./linear-estimate.tsx";

interface CardProps {
  readonly settings: Settings;
  readonly report: MatchReport;
  /** Index of the policy in the match. */
  readonly place: number;
}

function barsOf(place: number): uPlot.Series {
  return {
    scale: "choices",
    paths: uPlot.paths.bars?.({ size: [0.8, 40] }),
    fill: (chart) => colour(chart, `color-mix(in oklab, var(--p${place}) 45%, transparent)`),
    width: 0,
    points: { show: false },
  };
}

/** Linear problem: how often the policy chose the best of the ten candidates, the second best, and so on. */
function Ranks({ report, place }: CardProps) {
  const { choices, name } = report.players[place];
  const share = (rank: number) => choices[rank] / Math.max(1, report.round);
  const ranks = Array.from(choices, (_, rank) => rank + 1);
  const data = useMemo(() => [ranks, Array.from(choices, (_, rank) => share(rank))] as uPlot.AlignedData, [report]);
  return (
    <Chart
      id={`choices-${place}`}
      title="Choices, by rank"
      summary={`${name} chose the best of the ten in ${percent(share(0))} of rounds, one of the best three in ${percent(share(0) + share(1) + share(2))}.`}
      plot={() => ({
        scales: {
          x: { time: false, range: [0.4, ranks.length + 0.6] },
          choices: { range: (_, __, most) => [0, Math.max(0.2, 1.1 * most)] },
        },
        series: [{}, barsOf(place)],
        axes: [
          below({
            incrs: [1],
            space: 14,
            grid: { show: false },
            values: (_, ticks) => ticks.map((tick) => (tick >= 1 && tick <= 10 ? String(tick) : "")),
          }),
          { ...upwards((tick) => percent(tick)), scale: "choices" },
        ],
      })}
      data={data}
      describe={(rank) => `Rank ${rank + 1}: ${whole(choices[rank])} times, ${percent(share(rank))}`}
      table={() => ({
        columns: ["Rank", "Times", "Share"],
        rows: ranks.map((rank) => [String(rank), whole(choices[rank - 1]), percent(share(rank - 1))]),
      })}
    />
  );
}

/** Series of the curve's chart: choices, band, posterior mean and truth. */
function curveData({ truth, players }: MatchReport, place: number): uPlot.AlignedData {
  const { estimate, choices } = players[place];
  const xs = truth.map((_, i) => i / (truth.length - 1));
  const shift = (by: number) => estimate && Array.from(estimate.mean, (mean, i) => mean + by * estimate.deviation[i]);
  const nothing = truth.map(() => null);
  const lines = [DEVIATIONS, -DEVIATIONS, 0].map((by) => shift(by) ?? nothing);
  return [xs, Array.from(choices), ...lines, [...truth]] as uPlot.AlignedData;
}

function curvePlot(place: number): ReturnType<ChartProps["plot"]> {
  const edge: uPlot.Series = { width: 0, points: { show: false } };
  return {
    scales: {
      x: { time: false, range: [-0.01, 1.01] },
      y: { range: [-0.3, 1.3] },
      choices: { range: (_, __, most) => [0, 3 * Math.max(1, most)] },
    },
    series: [{}, barsOf(place), edge, edge, line(`var(--p${place})`), line("var(--ink)", { width: 1.5, dash: [3, 3] })],
    bands: [{ series: [2, 3], fill: (chart) => colour(chart, `color-mix(in oklab, var(--p${place}) 16%, transparent)`) }],
    axes: [below({ values: (_, ticks) => ticks.map(String) }), upwards(decimal)],
  };
}

function believed({ estimate, choices }: PlayerReport, truth: readonly number[], i: number): string {
  const belief = estimate ? `mean ${decimal(estimate.mean[i])} ± ${decimal(DEVIATIONS * estimate.deviation[i])}, ` : "";
  return `At ${decimal(i / (truth.length - 1))}: ${belief}truth ${decimal(truth[i])}; chosen ${whole(choices[i])} times`;
}

/** Curve problem: posterior mean and band, with the choices below. */
function Posterior({ report, place }: CardProps) {
  const { truth } = report;
  const player = report.players[place];
  const data = useMemo(() => curveData(report, place), [report]);
  const best = truth.indexOf(Math.max(...truth));
  const near = player.choices.reduce((sum, times, i) => sum + (Math.abs(i - best) <= 2 ? times : 0), 0);
  const band = player.estimate
    ? "Line: mean. Band: two deviations. Dashes: truth. Bars: choices."
    : "This policy has no posterior. Dashes: truth. Bars: choices.";
  return (
    <Chart
      id={`posterior-${place}`}
      title="Posterior"
      summary={`${band} ${percent(near / Math.max(1, report.round))} of choices lie within 0.04 of the optimum.`}
      plot={() => curvePlot(place)}
      data={data}
      describe={(i) => believed(player, truth, i)}
      table={() => ({
        columns: ["Place", "Mean", "Deviation", "Truth", "Chosen"],
        rows: truth.map((value, i) => [
          decimal(i / (truth.length - 1)),
          player.estimate ? decimal(player.estimate.mean[i]) : "",
          player.estimate ? decimal(player.estimate.deviation[i]) : "",
          decimal(value),
          whole(player.choices[i]),
        ]),
      })}
    />
  );
}

/** One policy's choices and posterior. */
export function PlayerCard({ settings, report, place }: CardProps) {
  const player = report.players[place];
  const { note } = contenders[settings.problem][settings.policies[place]];
  return (
    <li class="panel player" style={{ "--own": `var(--p${place})` }}>
      <h2>
        <i class={`mark p${place}`} /> {player.name}
      </h2>
      <p class="quiet">{note}</p>
      {settings.problem === "linear" ? (
        <>
          <LinearEstimate report={report} place={place} />
          <Ranks settings={settings} report={report} place={place} />
        </>
      ) : (
        <Posterior settings={settings} report={report} place={place} />
      )}
    </li>
  );
}
