// The script of the playground's page. Matches run in `background.ts`, so the page never waits for them.

import { render, useLayoutEffect, useState } from "hono/jsx/dom";
import type { MatchReport } from "../match.ts";
import { queryOf, type Settings, settingsOf } from "../settings.ts";
import { Arrivals, Curves } from "./curves.tsx";
import { Form } from "./form.tsx";
import { PlayerCard } from "./player-card.tsx";
import { type Run, Runner } from "./runner.ts";
import { Standings } from "./standings.tsx";
import { Status } from "./status.tsx";

const given = settingsOf(location.search);

/** Shows the link to the shop if this worker has one: its first page then links to it too. */
async function linkToShop(): Promise<void> {
  const link = document.querySelector<HTMLAnchorElement>("header a[hidden]");
  if (!link) return;
  const home = await fetch("/");
  link.hidden = !(await home.text()).includes('href="/#shop"');
}

/** The charts and tables of a match so far. */
function Results({ settings, report }: { settings: Settings; report: MatchReport }) {
  const match = queryOf(settings);
  return (
    <>
      <Curves key={match} report={report} />
      <ul class="cards">
        {report.players.map((_, place) => (
          <PlayerCard key={`${match} ${place}`} settings={settings} report={report} place={place} />
        ))}
      </ul>
      <Arrivals key={`${match} arrivals`} report={report} />
      <Standings report={report} />
    </>
  );
}

function Playground() {
  const [settings, set] = useState(given.settings);
  const [problems, setProblems] = useState(given.problems);
  const [run, setRun] = useState<Run>({ state: "idle" });
  const [runner] = useState(() => new Runner(setRun));

  const play = (next: Settings) => {
    history.replaceState(null, "", queryOf(next));
    runner.start(next);
  };
  useLayoutEffect(() => play(settings), []);
  const change = (next: Settings) => {
    set(next);
    setProblems([]);
    play(next);
  };
  return (
    <>
      <div class="desk">
        <Form settings={settings} change={change} />
        <div class="results">
          <Status {...{ run, settings, problems, change }} stop={() => runner.stop()} play={() => play(settings)} />
          {"report" in run && run.report && <Results settings={settings} report={run.report} />}
        </div>
      </div>
      <footer>
        <p>
          All policies get the same candidates, the same random outcomes and the same delays, all drawn from the seed. The URL of this page
          repeats the match, to the bit. A Web Worker of this page runs afterclick. The page sends no data.
        </p>
      </footer>
    </>
  );
}

linkToShop().catch(() => {});
render(<Playground />, document.querySelector("main") as HTMLElement);
