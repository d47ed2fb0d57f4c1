import type { Recommender } from "afterclick";
import { namedAction, vocabularyOf } from "afterclick/research";
import { configureModel, featurizer, type ModelConfig, startModel } from "../../worker/domain/model/model.ts";
import { stream } from "./scenario.ts";

export const MINUTE_MS = 60_000;
export const START = 1.8e12;
export const IMPRESSIONS = 20_000;
const PRODUCTS = 64;

const random = stream(1);
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)];
export const actions = Array.from({ length: PRODUCTS }, (_, i) => ({
  id: `product ${i}`,
  features: { category: `category ${i % 8}`, brand: `brand ${i % 12}` },
}));
export const contextOf = () => ({
  country: oneOf(["PT", "DK", "FR", "DE"]),
  device: oneOf(["phone", "desktop"]),
  returning: random() < 0.3,
});

/** Learns from impressions of two weeks. A third are viewed at once, and a twentieth bought after about sixteen hours. */
function learn({ policy }: Recommender, vectorOf: () => Float64Array): void {
  const due = new Map<number, ReturnType<typeof policy.append>[]>();
  for (let n = 0; n < IMPRESSIONS; n++) {
    const impression = policy.append({ features: vectorOf(), round: n + 1, now: START + n * MINUTE_MS });
    const at = n + Math.floor(2000 * random());
    const view = { reward: 1, delay: 1000 };
    policy.observe({ impression, reward: 0.1, goals: { before: {}, after: random() < 1 / 3 ? { view } : {} } });
    if (random() < 0.05) due.set(at, [...(due.get(at) ?? []), impression]);
    for (const bought of due.get(n) ?? []) {
      const purchase = { reward: 1, delay: START + n * MINUTE_MS - (bought.now as number) };
      policy.observe({ impression: bought, reward: 0.7, goals: { before: {}, after: { purchase, cart: purchase } } });
    }
  }
  policy.refactor();
}

/** The worker's default model with three goals, after its impressions. */
export async function learntDefaultModel(): Promise<{ readonly config: ModelConfig; readonly learner: Recommender }> {
  const goals = { view: { weight: 0.1 }, cart: { weight: 0.2 }, purchase: { weight: 0.7 } };
  const configured = await configureModel({ window: { ms: 7 * 86_400_000 }, goals });
  const config = { ...configured, encoder: { ...configured.encoder, vocabulary: vocabularyOf(actions.map(namedAction)) } } as ModelConfig;
  const [learner] = await startModel(config);
  const { vector } = featurizer(config);
  learn(learner, () => vector(contextOf(), oneOf(actions)));
  return { config, learner };
}
