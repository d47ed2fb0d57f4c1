import { type Evaluation, evaluate, type LoggedDecision } from "afterclick";
import type { Shown } from "./bandit-log.ts";
import type { LogLearner } from "./log-learner.ts";

/**
 * Evaluates a policy on rows of a log, oldest first. Its probabilities of a row follow from earlier rows alone, and after them it learns the
 * row: the value is the mean over what it would have chosen, row by row, having learnt from the log's choices and not from its own.
 *
 * `split`: share of the rows before the evaluation. The policy and the reward model learn them.
 */
export function testThenTrain(learner: LogLearner, log: readonly Shown[], split = 0.5): Promise<Evaluation> {
  let learnt = 0;
  const policy = (decision: LoggedDecision): ArrayLike<number> => {
    const shown = decision as Shown;
    // Rows of the same time may be of the same page.
    for (; learnt < log.length && log[learnt].shownAt < shown.shownAt; learnt++) learner.learn(log[learnt]);
    return learner.chances(shown);
  };
  const asOf = log[log.length - 1].shownAt;
  // Clicks are in their rows, so none is still to come.
  return evaluate({ log, policy, asOf, window: "none", maturity: () => 1, split });
}
