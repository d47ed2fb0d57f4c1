import { column, whole } from "../../ui/notation.ts";
import { Table } from "../../ui/table.tsx";
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
  const rows = players.map((player, place) => [
    <>
      <i class={`mark p${place}`} /> {player.name}
    </>,
    ...columns.map(([, write]) => write(player)),
  ]);
  return (
    <section class="standings" aria-labelledby="standings">
      <h2 id="standings">After {whole(round)} rounds</h2>
      <section class="scroll" tabindex={0} aria-label="Final numbers, scrolls sideways">
        <Table columns={["Policy", ...columns.map(([title]) => title)]} rows={rows} />
      </section>
    </section>
  );
}
