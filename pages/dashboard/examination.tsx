// The card that estimates, when it is asked, how many visitors look at each place of a list.

import { useState } from "hono/jsx/dom";
import type { Examination } from "../../worker/protocol/metrics-answer.ts";
import { reasonOf } from "../ui/call.ts";
import { Legend, Marks } from "../ui/marks.tsx";
import { decimal, moment, needed, orTooFew, whole } from "../ui/notation.ts";
import { Table } from "../ui/table.tsx";
import { scaleOf } from "./scale.ts";
import type { Source } from "./source.ts";

type ClickModels = Exclude<Examination["clickModels"], { readonly tooFew: unknown }>;

/** The name of each model, and the terms of its rates. */
const texts: Readonly<Record<ClickModels["best"], readonly [name: string, rate: string]>> = {
  "no-bias": ["no bias", "a rate per action"],
  "position-based": ["position-based", "a rate per action, times a weight per place"],
  "item-position": ["item-position", "a rate per pair of action and place"],
};

/** One or two sentences that say which click model fits best, and what to do. */
function Verdict({ model, examination: { clickModels, examination, configured } }: { model: string; examination: Examination }) {
  if ("tooFew" in clickModels) {
    return (
      <p>
        There are too few conversions in random lists to compare click models or to use the weights: it needs about{" "}
        {needed(clickModels.tooFew)}.
      </p>
    );
  }
  const { best } = clickModels;
  if (best === "no-bias") {
    return (
      <p>
        No click model fits clearly better than {texts[best][0]}: the log does not show that the place matters. Leave{" "}
        <code>examination</code> {configured ? "as it is" : "out"}, and estimate again when there are more random lists.
      </p>
    );
  }
  return (
    <>
      <p>
        The {texts[best][0]} model fits best.
        {best === "item-position" &&
          " Some actions gain more from a good place than others, so one weight per place holds on average only."}
      </p>
      {"tooFew" in examination ? (
        <p>No weight is known yet: it needs about {needed(examination.tooFew)}.</p>
      ) : (
        <p>
          To learn with these weights, reset model {model} with <code>"examination": {JSON.stringify(examination)}</code>. A reset forgets
          what was learnt. A new model that imports the log keeps it.
        </p>
      )}
    </>
  );
}

/** How well each click model predicts lists that it was not fitted to. */
function Models({ clickModels: { models } }: { clickModels: ClickModels }) {
  const perThousand = (value: number): string => decimal(1000 * value);
  const rows = models.map(({ name, logLikelihood, behind }) => [
    <>
      {texts[name][0]} <small>{texts[name][1]}</small>
    </>,
    perThousand(logLikelihood),
    behind.high === 0 ? "0" : `${perThousand(behind.value)} (${perThousand(behind.low)} to ${perThousand(behind.high)})`,
  ]);
  const columns = ["Click model", "Log-likelihood per 1,000", "Behind the greatest, 95 %"];
  return <Table class="numbers" columns={columns} rows={rows} />;
}

const endsOf = (low: number, high: number | null): string =>
  high === null ? `at least ${low.toFixed(2)}` : `${low.toFixed(2)} to ${high.toFixed(2)}`;

/** The weight of each place as a mark with its interval, and in numbers. */
function Weights({ places, configured }: Pick<Examination, "places" | "configured">) {
  // An interval may end far above its weight, or nowhere. The chart then shows where it begins.
  const ends = places.map(({ weight, high }) => (typeof weight === "number" ? Math.min(high ?? Number.POSITIVE_INFINITY, 2 * weight) : 0));
  const most = Math.max(1, ...ends);
  const { place: at } = scaleOf([0, most]);
  const rows = places.map(({ weight, low, high, impressions, converted }, place) => {
    const given = configured?.[Math.min(place, configured.length - 1)];
    const known = typeof weight === "number";
    return (
      <tr key={place}>
        <th scope="row">
          {place + 1} <small>{`${whole(converted)} of ${whole(impressions)}`}</small>
        </th>
        <td class="plot" aria-hidden="true">
          <Marks
            at={at}
            zero={0}
            band={known ? [low, Math.min(high ?? most, most)] : undefined}
            mean={known ? weight : undefined}
            score={given}
          />
        </td>
        <td class="number">
          {known ? weight.toFixed(2) : "none"} <small>{known ? place > 0 && endsOf(low, high) : orTooFew(weight, decimal)}</small>
        </td>
      </tr>
    );
  });
  return (
    <>
      <table class="candidates" aria-labelledby="examination">
        <thead>
          <tr>
            <th scope="col">
              Place <small>conversions</small>
            </th>
            <th scope="col" class="chart">
              <span class="unseen">Chart</span>
            </th>
            <th scope="col" class="number">
              Weight <small>interval of 95 %</small>
            </th>
          </tr>
        </thead>
        <tbody>{rows}</tbody>
      </table>
      <Legend
        entries={[
          { mark: "mean", name: "estimate" },
          { mark: "band", name: "interval of 95 %" },
          ...(configured ? [{ mark: "score", name: "weight that the model learns with" }] : []),
        ]}
      />
    </>
  );
}

/** The estimated examination of places, and the click model that fits best. */
export function Estimated({ model, examination }: { model: string; examination: Examination }) {
  const { lists, since, places, configured, clickModels } = examination;
  if (lists === 0 || since === null) {
    return (
      <p class="quiet">
        The log has no random lists of two or more actions yet. Set <code>"holdout": 0.1</code> or <code>"minimumShare": 0.01</code> with
        PATCH /v1/models/{model}, and ask for lists with <code>"limit"</code>.
      </p>
    );
  }
  return (
    <div class="halves">
      <div class="half">
        <p class="quiet">
          Estimated from {whole(lists)} random lists since {moment(since)}, relative to the first place.
        </p>
        <Verdict model={model} examination={examination} />
        {"tooFew" in clickModels || <Models clickModels={clickModels} />}
      </div>
      <div class="half">
        <Weights places={places} configured={configured} />
      </div>
    </div>
  );
}

/** Estimates the examination of places on demand, because the worker then reads much of the log. */
export function ExaminationOf({ source, model }: { source: Pick<Source, "examination">; model: string }) {
  const [{ found, problem, reading }, set] = useState<{ found?: Examination; problem?: string; reading?: boolean }>({});
  const read = async (): Promise<void> => {
    set({ found, reading: true });
    try {
      set({ found: await source.examination(model) });
    } catch (error) {
      set({ found, problem: reasonOf(error) });
    }
  };
  return (
    <section class="wide examination">
      <h2 id="examination">Examination of places</h2>
      {found ? (
        <Estimated model={model} examination={found} />
      ) : (
        <p class="quiet">Visitors look at the first places of a list more often. Random lists in the log show how much more often.</p>
      )}
      <p role="status">{problem && `Not estimated: ${problem}.`}</p>
      <button type="button" disabled={reading} onClick={() => void read()}>
        {reading ? "Reading the log" : found ? "Estimate again" : "Estimate from the log"}
      </button>
    </section>
  );
}
