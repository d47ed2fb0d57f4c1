import { type Estimate, estimateExamination, evaluateLists, type ListEvaluationRequest, type PolicyDescriptor } from "afterclick";
import { type Source, SourceError } from "./source.ts";

/** The examination weights of a log's lists, and the reward per list that a policy would have earned. */
export async function evaluatedLists(
  { lists, window }: Source,
  request: Omit<ListEvaluationRequest, "log" | "examination" | "policy"> & { readonly policy: PolicyDescriptor },
) {
  if (!lists) throw new SourceError("--lists: expected a model's log, whose impressions name their list, got an Open Bandit csv");
  const { places, weights } = await estimateExamination({ log: lists.random, window });
  const evaluation = await evaluateLists({ ...request, log: lists.lists, examination: weights });
  return { incomplete: lists.incomplete, examination: places, examinationWeights: weights, ...evaluation };
}

type Evaluated = Awaited<ReturnType<typeof evaluatedLists>>;

const whole = new Intl.NumberFormat("en");
const shown = (value: number): string => (Number.isFinite(value) ? value.toPrecision(3) : "none");

/** The result as text. */
export function listReport(name: string, evaluated: Evaluated): string {
  const { lists, incomplete, examination, examinationWeights, weights, logged, itemPosition, positionBased } = evaluated;
  const row = (label: string, { value, low, high }: Estimate): string =>
    `${label.padEnd(22)}${shown(value).padStart(10)}    ${shown(low)} to ${shown(high)}`;
  return [
    `${name}, lists since ${new Date(evaluated.since).toISOString()}, as of ${new Date(evaluated.asOf).toISOString()}`,
    `  ${whole.format(lists.learnt)} lists for learning, ${whole.format(lists.evaluated)} evaluated, ${whole.format(lists.tooYoung)} too young, ${whole.format(incomplete)} incomplete`,
    `  mean weights: item-position ${shown(weights.itemPosition)}, position-based ${shown(weights.positionBased)}; below 1 the log lacks some of this policy's lists`,
    "",
    `${"examination of place".padEnd(22)}${"estimate".padStart(10)}    95 % interval`,
    ...examination.map((estimate, place) => row(String(place + 1), estimate)),
    `  used: ${examinationWeights.map(shown).join(", ")}`,
    "",
    `${"reward per list".padEnd(22)}${"estimate".padStart(10)}    95 % interval`,
    row("the log's own policy", logged),
    row("item-position", itemPosition),
    row("position-based", positionBased),
  ].join("\n");
}
