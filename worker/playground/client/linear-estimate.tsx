import { column } from "../../page/client/notation.ts";
import type { MatchReport } from "../match.ts";

/** Half a band, in posterior standard deviations. */
export const DEVIATIONS = 2;

/** What the rows show: weights are between 0 and 1. */
const [LEAST, MOST] = [-0.25, 1.25];

function placeOf(value: number): string {
  return `${(100 * (Math.min(MOST, Math.max(LEAST, value)) - LEAST)) / (MOST - LEAST)}%`;
}

/** The weight of each feature as a linear policy estimates it, beside the true one. */
export function LinearEstimate({ report, place }: { report: MatchReport; place: number }) {
  const { truth, players } = report;
  const { estimate, name } = players[place];
  if (!estimate) return <p class="quiet empty">{name} learns nothing, so there is no estimate.</p>;
  const id = `estimate-${place}`;
  const write = column([1]);
  return (
    <div class="estimate">
      <h3 id={id}>Weights of the features</h3>
      <table aria-labelledby={id}>
        <thead class="unseen">
          <tr>
            <th scope="col">Feature</th>
            <th scope="col">Chart</th>
            <th scope="col">Estimate, and half its band</th>
            <th scope="col">Truth</th>
          </tr>
        </thead>
        <tbody>
          {truth.map((value, j) => {
            const [mean, half] = [estimate.mean[j], DEVIATIONS * estimate.deviation[j]];
            const places = {
              "--low": placeOf(mean - half),
              "--high": placeOf(mean + half),
              "--mean": placeOf(mean),
              "--taste": placeOf(value),
            };
            return (
              <tr key={j}>
                <th scope="row">{j + 1}</th>
                <td class="plot" aria-hidden="true">
                  <div style={places}>
                    <i class="band" />
                    <i class="taste" />
                    <i class="mean" />
                  </div>
                </td>
                <td class="number">
                  {write(mean)} <small>± {write(half)}</small>
                </td>
                <td class="unseen">{write(value)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p class="quiet">Dot: its estimate; band: two deviations; stroke: the truth.</p>
    </div>
  );
}
