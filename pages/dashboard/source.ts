import type { Explanation, ModelSummary } from "../../worker/protocol/answers.ts";
import type { Examination, Metrics } from "../../worker/protocol/metrics-answer.ts";
import { call } from "../ui/call.ts";

/** The API that a dashboard reads. */
export interface Source {
  models(): Promise<readonly ModelSummary[]>;
  metrics(model: string): Promise<Metrics>;
  explain(impression: string): Promise<Explanation>;
  examination(model: string): Promise<Examination>;
}

function sourceAt(start: string, init?: RequestInit): Source {
  const read = <Body>(path: string) => call<Body>(`${start}/${path}`, init);
  return {
    models: async () => (await read<{ models: readonly ModelSummary[] }>("models")).models,
    metrics: (model) => read(`models/${encodeURIComponent(model)}/metrics`),
    explain: (impression) => read(`impressions/${encodeURIComponent(impression)}`),
    examination: (model) => read(`models/${encodeURIComponent(model)}/examination`),
  };
}

/** The demonstration's backend, which holds the secret key. It shows the developer's own models on the developer's machine alone. */
export const demoSource = sourceAt("/demo");

/** The worker's API, with the secret key. */
export function keyedSource(key: string): Source {
  return sourceAt("/v1", { headers: { authorization: `Bearer ${key}` } });
}
