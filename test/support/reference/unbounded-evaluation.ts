import { readFileSync } from "node:fs";
import { estimateOf, weightsOf } from "../../../src/evaluation/estimate/row.ts";
import { termsOf } from "../../../src/evaluation/estimators.ts";
import { type EvaluationRequest, weighedLog } from "../../../src/evaluation/weighed-log.ts";

const module = new WebAssembly.Module(readFileSync(new URL("../../../dist/core.wasm", import.meta.url)));

/** The estimates of an evaluation before it asks whether they have enough data and support, however few the decisions. */
export async function unboundedEvaluation(request: EvaluationRequest) {
  const { core, rows, matured, decisions, since } = await weighedLog({ module, ...request });
  const terms = termsOf(rows);
  const estimate = (name: keyof typeof terms) => estimateOf(core, rows.rewards, terms[name], matured);
  return {
    since,
    decisions,
    immature: matured.immatureShares(rows.rewards),
    weights: weightsOf(rows.rewards, rows.weight),
    logged: estimate("logged"),
    ips: estimate("ips"),
    snips: estimate("snips"),
    doublyRobust: estimate("doublyRobust"),
  };
}
