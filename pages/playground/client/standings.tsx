import { column, whole } from "../../ui/notation.ts";
import type { MatchReport, PlayerReport } from "../match.ts";

const last = (values: readonly number[]): number => values.at(-1) as number;

/** The columns after the policy's name. */
function columnsOf({ players, round }: MatchReport): readonly (readonly [title: string, write: (player: PlayerReport) => string])[] {
  const missed = column(players.map(({ regret }) => last(regret)));
  return [
    ["Missed", ({ regret }) => missed(last(regret))],
    ["Per round", ({ regret }) => (last(regret) / Math.max(1, round)).toFixed(4)],
    ["Pending", ({ pending }) => whole(last(pending))],
    ["In time", ({ counted }) => whole(last(counted))],
    ["Too late", ({ late }) => whole(last(late))],
    ["Digest of its state", ({ digest }) => digest],
  ];
}

/** A table of the final numbers. */
export function Standings({ report }: { report: MatchReport }) {
  const { players, round } = report;
  const columns = columnsOf(report);
  return (
    <section class="card standings" aria-labelledby="standings">
      <h2 id="standings">After {whole(round)} rounds</h2>
      <section class="scroll" tabindex={0} aria-label="Final numbers, scrolls sideways">
        <table>
          <thead>
            <tr>
              <th scope="col">Policy</th>
              {columns.map(([title]) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {players.map((player, place) => (
              <tr key={player.name}>
                <th scope="row">
                  <i class={`mark p${place}`} /> {player.name}
                </th>
                {columns.map(([title, write]) => (
                  <td key={title}>{write(player)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}
