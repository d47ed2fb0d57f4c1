import { evaluateLists, type PolicyDescriptor } from "afterclick";
import { estimateExamination, type ListEvaluationRequest } from "afterclick/research";
import { counted } from "../command/counted.ts";
import { lateLines } from "../log/late-lines.ts";
import { figureRow, shown } from "./figure-row.ts";
import { repeatedLines } from "./repeated-lines.ts";
import { rewardUnit } from "./reward-unit.ts";
import { type Source, SourceError } from "./source.ts";
import { withinLines } from "./within-lines.ts";

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
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

/** The result as text. */
export function listReport(
  name: string,
  evaluated: Evaluated,
  { goals, repeated, window, completeUntil, end }: Pick<Source, "goals" | "repeated" | "window" | "completeUntil" | "end">,
): string {
  const { lists, incomplete, examination, examinationWeights, weights, support, logged, itemPosition, positionBased } = evaluated;
  return [
    `${name}, lists since ${new Date(evaluated.since).toISOString()}, as of ${new Date(evaluated.asOf).toISOString()}`,
    ...lateLines({ asOf: evaluated.asOf, completeUntil, end }),
    `  ${counted(lists.learnt, "list", whole.format(lists.learnt))} for learning, ${whole.format(lists.evaluated)} evaluated, ${whole.format(lists.tooYoung)} too young, ${whole.format(incomplete)} incomplete`,
    `  mean weights: item-position ${shown(weights.itemPosition)}, position-based ${shown(weights.positionBased)}`,
    `  support: the log could have had ${percent.format(support.itemPosition)} of this policy's items at their places`,
    ...repeatedLines(repeated),
    ...rewardUnit(goals),
    ...withinLines(evaluated.withinMs, { goals, window }),
    "",
    `${"examination of place".padEnd(22)}${"estimate".padStart(10)}    95 % interval`,
    ...examination.map((estimate, place) => figureRow(String(place + 1), estimate)),
    `  used: ${examinationWeights.map(shown).join(", ")}`,
    "",
    `${"reward per list".padEnd(22)}${"estimate".padStart(10)}    95 % interval`,
    figureRow("the log's own policy", logged),
    figureRow("item-position", itemPosition),
    figureRow("position-based", positionBased),
  ].join("\n");
}
