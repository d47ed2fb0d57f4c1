import { Marks } from "../../ui/marks.tsx";
import { column } from "../../ui/notation.ts";
import { Head } from "../../ui/table.tsx";
import type { MatchReport } from "../match.ts";

/** Half the width of a band, in posterior standard deviations. */
export const DEVIATIONS = 2;

/** Range of the axis. True weights are between 0 and 1. */
const [LEAST, MOST] = [-0.25, 1.25];

function placeOf(value: number): string {
  return `${(100 * (Math.min(MOST, Math.max(LEAST, value)) - LEAST)) / (MOST - LEAST)}%`;
}

const write = column([1]);

/** One weight, with a band of `half` on either side of the mean. */
function Weight({ feature, mean, half, truth }: Readonly<Record<"feature" | "mean" | "half" | "truth", number>>) {
  return (
    <tr>
      <th scope="row">{feature}</th>
      <td class="plot" aria-hidden="true">
        <Marks at={placeOf} band={[mean - half, mean + half]} taste={truth} mean={mean} />
      </td>
      <td class="number">
        {write(mean)} <small>± {write(half)}</small>
      </td>
      <td class="unseen">{write(truth)}</td>
    </tr>
  );
}

/** A linear policy's estimate of each weight, beside the true weight. */
export function LinearEstimate({ report, place }: { report: MatchReport; place: number }) {
  const { truth, players } = report;
  const { estimate, name } = players[place];
  if (!estimate) return <p class="quiet empty">{name} learns nothing, so there is no estimate.</p>;
  const id = `estimate-${place}`;
  return (
    <div class="estimate">
      <h3 id={id}>Weights of the features</h3>
      <table aria-labelledby={id}>
        <Head class="unseen" columns={["Feature", "Chart", "Estimate ± half its band", "Truth"]} />
        <tbody>
          {truth.map((value, j) => (
            <Weight key={j} feature={j + 1} mean={estimate.mean[j]} half={DEVIATIONS * estimate.deviation[j]} truth={value} />
          ))}
        </tbody>
      </table>
      <p class="quiet">Dot: estimate. Band: two deviations. Stroke: truth.</p>
    </div>
  );
}
