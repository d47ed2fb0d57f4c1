import { type Decision, encoder, otfLinTs, Recommender, type UnsupportedError } from "afterclick";
import { OwnModel, PublishedModel } from "afterclick/local";
import * as slim from "afterclick/slim";

export async function decide(): Promise<Decision> {
  const { encode } = encoder({ dimension: 8 });
  const recommender = await Recommender.create({ policy: otfLinTs({ dimension: 8 }), window: { ms: 1000 } });
  // @ts-expect-error: no such option.
  otfLinTs({ dimensions: 8 });
  return recommender.recommend({ candidates: [{ id: "a", features: encode({ action: { brand: "Acme" } }) }], now: 0 });
}

export async function decideLocally(): Promise<string> {
  const shop = await PublishedModel.open({ url: "https://worker.example", model: "shop", key: "pk", policies: [otfLinTs] });
  const own = await OwnModel.open({ name: "news", policy: otfLinTs({ dimension: 1 }), window: "none" });
  const { action } = await own.recommend({ candidates: [{ features: [1] }] });
  return shop.recommend({ context: { country: "PT" } }).actions[0].impressionId + action.impressionId;
}

export const factories: readonly slim.PolicyFactory[] = slim.policies;
export const code = (error: UnsupportedError): string => error.code;
