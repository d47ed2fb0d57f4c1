// The card of one impression: why it was shown, what else could have been, and what came of it.

import { useEffect, useRef } from "hono/jsx/dom";
import type { Candidate, Explanation } from "../../worker/protocol/answers.ts";
import { Legend, Marks } from "../ui/marks.tsx";
import { amount, column, decimal, duration, few, moment, percent, type TooFew, whole } from "../ui/notation.ts";
import { linkTo } from "../ui/route.ts";
import { Table } from "../ui/table.tsx";
import { scaleOf } from "./scale.ts";

/** Most candidates listed. The shown one is always listed. */
const LISTED = 12;

const legend = [
  { mark: "mean", name: "mean, estimated for this visitor" },
  { mark: "band", name: "average over the product's visitors, interval of 95 %" },
  { mark: "score", name: "score, which sets the rank" },
];

/** One or two sentences that say why this action was shown. */
function reasonsOf({ action, arm, decision, modelVersion }: Explanation): string {
  if (!decision) return "Another system chose it and registered it here, so there is no decision to explain.";
  const { place, candidates, probability, mean, width, score, asked } = decision;
  // By its action, because pins move up when there are too few candidates.
  const pin = asked?.pin?.find((each) => each.action === action);
  if (pin) {
    const moved = pin.place === place ? "" : ` Too few candidates moved it up to place ${place + 1}.`;
    return `The request pinned it to place ${pin.place + 1}.${moved} Model version ${whole(modelVersion)}.`;
  }
  const among = candidates === null ? "in its own domain" : `among ${whole(candidates)} candidate${candidates === 1 ? "" : "s"}`;
  const odds = probability === undefined ? "" : ` Its chance of place ${place + 1} was ${decimal(100 * probability)} %.`;
  const why = {
    policy: `The policy put it in place ${place + 1} ${among}: score ${decimal(score)}, mean ${decimal(mean)}, width ${decimal(width)}.`,
    holdout: `It was drawn uniformly ${among} for the holdout.`,
    catalogue: "The model was learning its log again after an upgrade, so the catalogue was shown in its order.",
    default: "It is the default action: the request did not let the policy decide.",
  }[arm];
  return `${why}${odds} Model version ${whole(modelVersion)}.`;
}

interface Ends {
  readonly average: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly tooFew?: TooFew;
}

function isBounded<Belief extends Ends>(belief: Belief | null): belief is Belief & { readonly low: number; readonly high: number } {
  return belief !== null && belief.low !== null && belief.high !== null;
}

/** The average of the product with its interval, in words. */
function averageOf({ average, low, high, tooFew }: Ends, write: (value: number) => string): string {
  if (tooFew) return few(tooFew);
  if (average === null) return "not known";
  return low === null || high === null ? "too few amounts" : `${write(average)} (${write(low)} to ${write(high)})`;
}

function listOf({ candidates, action }: Explanation): readonly Candidate[] {
  const ranked = (candidates ?? []).toSorted((a, b) => b.score - a.score);
  return ranked.filter(({ id }, i) => i < LISTED || id === action);
}

function CandidateRow(props: { candidate: Candidate; shown: boolean; place: (value: number) => string; write: (value: number) => string }) {
  const { candidate, shown, place, write } = props;
  const { id, belief, score } = candidate;
  return (
    <tr>
      <th scope="row" class={shown ? "shown" : undefined}>
        {id} {shown && <span class="tag">shown</span>}
      </th>
      <td class="plot" aria-hidden="true">
        <Marks at={place} zero={0} band={isBounded(belief) ? [belief.low, belief.high] : undefined} mean={belief?.mean} score={score} />
      </td>
      <td class="number">
        {belief && write(belief.mean)} <small>{belief && averageOf(belief, write)}</small>
      </td>
      <td class="number">{write(score)}</td>
    </tr>
  );
}

function Candidates({ explanation }: { explanation: Explanation }) {
  const listed = listOf(explanation);
  const values = listed.flatMap(({ belief, score }) => [
    score,
    ...(belief ? [belief.mean] : []),
    ...(isBounded(belief) ? [belief.low, belief.high] : []),
  ]);
  const { most, place } = scaleOf([0, ...values]);
  const write = column(values);
  const left = (explanation.candidates?.length ?? 0) - listed.length;
  return (
    <>
      <h3 id="candidates">Candidates now, in the same context</h3>
      <table class="candidates" aria-labelledby="candidates">
        <thead>
          <tr>
            <th scope="col">Candidate</th>
            <th scope="col" class="chart">
              <span class="unseen">Chart</span>
            </th>
            <th scope="col" class="number">
              Mean{explanation.currency && ` in ${explanation.currency}`} <small>average of the product (95 %)</small>
            </th>
            <th scope="col" class="number score-number">
              Score
            </th>
          </tr>
        </thead>
        <tbody>
          {listed.map((candidate) => (
            <CandidateRow
              key={candidate.id}
              candidate={candidate}
              shown={candidate.id === explanation.action}
              place={place}
              write={write}
            />
          ))}
        </tbody>
        <tfoot aria-hidden="true">
          <tr>
            <td />
            <td class="axis">
              <div class="line" style={{ "--at": place(0) }}>
                <span>0</span>
                <span class="most">{decimal(Number(most.toPrecision(2)))}</span>
              </div>
            </td>
            <td colspan={2} />
          </tr>
        </tfoot>
      </table>
      <Legend entries={legend}>{left > 0 && <li>{whole(left)} more scored less</li>}</Legend>
    </>
  );
}

function Conversions({ conversions, shownAt }: { conversions: readonly Explanation["conversions"][number][]; shownAt: number }) {
  const rows = conversions.map(({ goal, reward, currency, at, status }) => [
    <>
      after {duration(at - shownAt)} <small>at {moment(at, true)}</small>
    </>,
    goal,
    reward === null ? "retracted" : amount(reward, currency ?? null),
    status,
  ]);
  return <Table class="numbers" columns={["Arrived", "Goal", "Reward", "Status"]} rows={rows} />;
}

type Factor = NonNullable<NonNullable<Explanation["now"]>["factors"]>[number];

/** The expected reward of each goal. Their product is the mean. */
function Factors({ factors, currencies }: { factors: readonly Factor[]; currencies: Readonly<Record<string, string>> }) {
  const rows = factors.map(({ goal, after, amount: isAmount, clipped = 0, clippedSum = 0, mean, ...ends }) => {
    const money = (value: number): string => amount(value, currencies[goal] ?? null);
    const write = isAmount ? money : percent;
    return [
      goal,
      isAmount
        ? `mean amount${clipped > 0 ? `, ${whole(clipped)} clipped by ${money(clippedSum)}` : ""}`
        : `share of ${after === undefined ? "impressions" : `those with ${after}`}`,
      write(mean),
      averageOf(ends, write),
    ];
  });
  return (
    <>
      <h3>What is expected of it now, by goal</h3>
      <Table class="numbers" columns={["Goal", "Of what", "Mean for this visitor", "Average of the product (95 %)"]} rows={rows} />
    </>
  );
}

/**
 * One impression: the shown action, its competitors, the reason for the choice, and its conversions.
 * @param props.beside the model whose dashboard shows it, by default its own.
 */
export function ExplanationOf({ explanation, now, beside }: { explanation: Explanation; now: number; beside?: string }) {
  const { model, action, status, shownAt, windowEndsAt, conversions, candidates, reward, currency, decision, now: belief } = explanation;
  const heading = useRef<HTMLHeadingElement>(null);
  // Screen readers announce the focused heading, and the browser scrolls to it.
  useEffect(() => heading.current?.focus(), []);
  const shadows = Object.entries(decision?.shadows ?? {});
  const left = status === "pending" && windowEndsAt > now ? `, ${duration(windowEndsAt - now)} left` : "";
  return (
    <section class="explanation" aria-labelledby="explanation">
      <div class="bar">
        <h2 id="explanation" tabindex={-1} ref={heading}>
          Why {action}
        </h2>
        <a href={linkTo(beside ?? model)}>Close</a>
      </div>
      {beside !== undefined && beside !== model && (
        <p>
          An impression of model <a href={linkTo(model, explanation.impressionId)}>{model}</a>.
        </p>
      )}
      <p>
        <i data-status={status} />{" "}
        {status === "deferred" ? `Recommended at ${moment(shownAt, true)}, not shown yet` : `Shown at ${moment(shownAt, true)}, ${status}`}
        {left}
        {reward === null ? "" : `, with a reward of ${amount(reward, currency)}`}.
      </p>
      <p>{reasonsOf(explanation)}</p>
      {shadows.length > 0 && (
        <p class="quiet">Shadow policies: {shadows.map(([name, shadowed]) => `${name} would have shown ${shadowed}`).join(", ")}.</p>
      )}
      {belief?.factors && <Factors factors={belief.factors} currencies={explanation.currencies} />}
      {candidates && candidates.length > 0 && <Candidates explanation={explanation} />}
      <h3>Conversions</h3>
      {conversions.length > 0 ? (
        <Conversions conversions={conversions} shownAt={shownAt} />
      ) : (
        <p class="quiet">{left ? "None yet. One may still arrive." : "None."}</p>
      )}
    </section>
  );
}
