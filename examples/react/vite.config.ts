// Makes the model in the worker, and gives the page the publishable key. The secret key stays here.
//
// AFTERCLICK_MODEL names a model of your own instead. SHOP_URL is the shop whose pages of products the cards open.
import process from "node:process";
import { products } from "./products.ts";

const { AFTERCLICK_URL = "http://localhost:8787", AFTERCLICK_SECRET_KEY = "", AFTERCLICK_PUBLISHABLE_KEY = "" } = process.env;
const { AFTERCLICK_MODEL, SHOP_URL = "#" } = process.env;
const MODEL = "react-shop";
const firstOf = (keys: string): string => keys.trim().split(/\s+/)[0];

async function put(path: string, json: object): Promise<void> {
  const headers = { authorization: `Bearer ${firstOf(AFTERCLICK_SECRET_KEY)}`, "content-type": "application/json" };
  const response = await fetch(new URL(path, AFTERCLICK_URL), { method: "PUT", headers, body: JSON.stringify(json) });
  if (!response.ok) throw new Error(`PUT ${path}: ${response.status}: ${await response.text()}`);
}

export default async function config(): Promise<object> {
  if (!AFTERCLICK_MODEL) {
    await put(`/v1/models/${MODEL}`, { window: { ms: 86_400_000 }, goals: { click: { weight: 1, public: true } } });
    const actions = products.map(({ id, brand, price }) => ({ id, features: { brand, isCheap: price < 30 } }));
    await put(`/v1/models/${MODEL}/actions`, { actions });
  }
  const worker = {
    url: new URL(AFTERCLICK_URL).origin,
    publishableKey: firstOf(AFTERCLICK_PUBLISHABLE_KEY),
    model: AFTERCLICK_MODEL ?? MODEL,
  };
  return { base: "./", define: { WORKER: JSON.stringify(worker), SHOP_URL: JSON.stringify(SHOP_URL) } };
}
