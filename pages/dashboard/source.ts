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

/** The demonstration's backend, which holds the secret key. It shows the developer's own models on the developer's machine alone. */
export const demoSource: Source = {
  models: async () => (await call<{ models: readonly ModelSummary[] }>("/demo/models")).models,
  metrics: (model) => call(`/demo/models/${encodeURIComponent(model)}/metrics`),
  explain: (impression) => call(`/demo/impressions/${encodeURIComponent(impression)}`),
  examination: (model) => call(`/demo/models/${encodeURIComponent(model)}/examination`),
};

/** The worker's API, with the secret key. */
export function keyedSource(key: string): Source {
  const read = <Body>(path: string) => call<Body>(`/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
  return {
    models: async () => (await read<{ models: readonly ModelSummary[] }>("models")).models,
    metrics: (model) => read(`models/${encodeURIComponent(model)}/metrics`),
    explain: (impression) => read(`impressions/${encodeURIComponent(impression)}`),
    examination: (model) => read(`models/${encodeURIComponent(model)}/examination`),
  };
}
