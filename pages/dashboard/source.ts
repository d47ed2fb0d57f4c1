import type { Explanation, Metrics, ModelSummary } from "../../worker/protocol/answers.ts";
import { call } from "../ui/call.ts";

/** The API that a dashboard reads. */
export interface Source {
  /** Null if the only model is known beforehand. */
  readonly models: (() => Promise<readonly ModelSummary[]>) | null;
  metrics(model: string): Promise<Metrics>;
  explain(impression: string): Promise<Explanation>;
}

/** The demonstration's backend, which holds the secret key. */
export const demoSource: Source = {
  models: null,
  metrics: () => call("/demo/metrics"),
  explain: (impression) => call(`/demo/impressions/${encodeURIComponent(impression)}`),
};

/** The worker's API, with the secret key. */
export function keyedSource(key: string): Source {
  const read = <Body>(path: string) => call<Body>(`/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
  return {
    models: async () => (await read<{ models: readonly ModelSummary[] }>("models")).models,
    metrics: (model) => read(`models/${encodeURIComponent(model)}/metrics`),
    explain: (impression) => read(`impressions/${encodeURIComponent(impression)}`),
  };
}
