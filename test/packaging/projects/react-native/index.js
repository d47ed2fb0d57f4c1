import { otfLinUcb, Recommender } from "afterclick";
import { afterclick } from "afterclick/client";

globalThis.created = Recommender.create({ policy: otfLinUcb({ dimension: 2 }), window: "none" });
globalThis.ask = (url) =>
  afterclick(url, { key: "pk" }).v1.models[":model"].recommendations.$post({ param: { model: "shop" }, json: { limit: 1 } });
