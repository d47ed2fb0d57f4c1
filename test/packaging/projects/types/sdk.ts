import { type Decision, encoder, Model, otfLinTs, type Recommendation, Recommender, type UnsupportedError } from "afterclick";
import { afterclick } from "afterclick/client";
import core from "afterclick/core.wasm";
import linear from "afterclick/linear.wasm";
import { type LocalModel, OwnModel, PublishedModel } from "afterclick/local";
import { type Families, families } from "afterclick/research";
import * as slim from "afterclick/slim";

export async function decide(): Promise<Decision> {
  const { encode } = encoder({ dimension: 8 });
  const recommender = await Recommender.create({ policy: otfLinTs({ dimension: 8 }), window: { ms: 1000 } });
  // @ts-expect-error: no such option.
  otfLinTs({ dimensions: 8 });
  return recommender.recommend({ candidates: [{ id: "a", features: encode({ action: { brand: "Acme" } }) }], now: 0 });
}

export async function decideByName(kept?: Uint8Array): Promise<Recommendation> {
  const actions = [{ id: "boots", features: { brand: "Acme", price: 120 } }, { id: "hat" }];
  const encoder = { numeric: { price: { min: 0, max: 200 } } };
  const model: Model = kept ? await Model.restore(kept) : await Model.create({ window: { ms: 1000 }, actions, encoder });
  // @ts-expect-error: no such option.
  await Model.create({ window: { ms: 1000 }, products: actions });
  const recommendation = model.recommend({ context: { country: "PT" }, limit: 2, now: 0 });
  model.convert({ impressionId: recommendation.actions[0].impressionId, at: 1 });
  return recommendation;
}

export const oneOfEach: Families = families({ of: [0, 0, 1], room: [1, 1] });

export async function decideLocally(): Promise<string> {
  const shop = await PublishedModel.open({ url: "https://worker.example", model: "shop", key: "pk", policies: [otfLinTs] });
  const own = await OwnModel.open({ name: "news", policy: otfLinTs({ dimension: 1 }), window: "none" });
  const { action } = await own.recommend({ candidates: [{ features: [1] }] });
  return shop.recommend({ context: { country: "PT" } }).actions[0].impressionId + action.impressionId;
}

/** Both models take and return the same shapes. */
export async function buy(model: LocalModel | OwnModel | PublishedModel): Promise<string> {
  const { actions, windowEndsAt } = await model.recommend({ context: { country: "PT" }, actions: [{ id: "boots" }], limit: 2 });
  const best: { readonly id: string; readonly probability?: number } = actions[0];
  const { status } = await model.convert({ impressionId: actions[0].impressionId, at: windowEndsAt });
  return best.id + status;
}

export async function load(): Promise<slim.Recommender> {
  const module: WebAssembly.Module = linear;
  const address: string = core;
  return slim.Recommender.create({ policy: slim.uniform({}), window: "none", module: address ? core : module });
}

export async function firstOf(model: string): Promise<string> {
  const { v1 } = afterclick("https://worker.example", { key: "pk" });
  const answer = await v1.models[":model"].recommendations.$post({ param: { model }, json: { limit: 1 } });
  if (!answer.ok) {
    const { status, detail } = await answer.json();
    throw new Error(`${status}: ${detail}`);
  }
  const { actions } = await answer.json();
  // @ts-expect-error: a score is a number.
  const score: string = actions[0]?.score;
  // @ts-expect-error: a model has a name.
  await v1.models[":model"].recommendations.$post({ json: {} });
  // @ts-expect-error: there is no such route.
  v1.modles;
  return actions[0]?.id + score;
}

export const factories: readonly slim.PolicyFactory[] = slim.policies;
export const code = (error: UnsupportedError): string => error.code;
