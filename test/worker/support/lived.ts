import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { expect, vi } from "vitest";
import { call, convert, createModel, keep, recommend } from "./client.ts";
import { MINUTE_MS, tick } from "./clock.ts";

export const GOALS = { order: { weight: 1 }, review: { weight: 0.25 } };

/** Policies draw by impression ids, so these are the same in each run. */
export function seedIds(random = xoroshiro128plus(1)): void {
  vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => (bytes as Uint8Array).map(() => uniformInt(random, 0, 255)) as never);
}

/** A model that has gone through every kind of event, from a seed. */
export async function lived(config: object, seed: number): Promise<string> {
  const random = xoroshiro128plus(seed);
  const chance = () => uniformInt(random, 0, 9999) / 10_000;
  seedIds(random);
  const model = await createModel({ ...config, goals: GOALS, holdout: 0.2, serving: "learner" });
  const shown: string[] = [];
  const deferred: string[] = [];
  const start = Date.now();
  let version = 0;
  for (let n = 0; n < 60; n++) {
    tick(1 + Math.floor(chance() * 30_000));
    const body = { context: { country: chance() < 0.5 ? "PT" : "DK" }, limit: 2, keys: [`order ${n}`] };
    const { actions } = (await call("POST", `/v1/models/${model}/recommendations`, body)).body;
    shown.push(...actions.map(({ impressionId }: { readonly impressionId: string }) => impressionId));
    if (chance() < 0.1) deferred.push(...(await recommend(model, { defer: true })));
    const impressionId = shown[Math.floor(chance() * shown.length)];
    const [goal, reward, timestamp] = [
      chance() < 0.7 ? "order" : "review",
      Math.floor(chance() * 8) / 8,
      Date.now() - Math.floor(chance() * 9000),
    ];
    const kind = chance();
    if (kind < 0.5) await convert({ impressionId, goal, reward }, { timestamp: Math.max(timestamp, start) });
    else if (kind < 0.65) await convert({ impressionId, goal }, { type: "conversion.retracted" });
    else if (kind < 0.75) await convert({ model, key: `order ${n}`, action: actions[n % 2].id, goal, reward });
    // One that does not name the product of a list of two waits for good.
    else if (kind < 0.8) await convert({ model, key: `order ${n + 5}`, ...(n % 2 && { action: "mug" }), goal, reward });
    else if (kind < 0.9) await convert({ impressionId: deferred.at(-1) ?? impressionId, goal, reward }, { id: `msg_${model}_${n % 3}` });
    else if (deferred.length > 1) await call("POST", `/v1/impressions/${deferred[0]}/activate`);
    if (n === 30) version = await keep(model);
    if (n === 45) expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
    if (n === 50) tick(50 * MINUTE_MS);
  }
  await convert({ impressionId: shown[0], goal: "order", reward: 1 });
  for (const reward of [0.5, 0.25]) await convert({ impressionId: shown.at(-1), goal: "order", reward }, { id: `msg_${model}_twice` });
  vi.mocked(crypto.getRandomValues).mockRestore();
  return model;
}
