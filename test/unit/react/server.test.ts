import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { Afterclick, Impression, useRecommendations } from "afterclick/react";
import { recommendations } from "afterclick/react/server";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AnsweringServer } from "../../support/answering-server.ts";

// What a server asks and renders, in Node.

const worker = new AnsweringServer();
beforeAll(() => worker.listen());
afterAll(() => worker.close());

const LIST = { model: "shop", actions: [{ id: "hat", impressionId: "7-hat", score: 1, mean: 0 }] };
const asking = () => ({ url: worker.url.href, key: "sk", model: "my shop", consent: true, limit: 2 });

it("asks a worker, and returns plain data", async () => {
  const [bodies, keys]: [string[], unknown[]] = [[], []];
  worker.asked = [];
  worker.answer = async (request, response) => {
    keys.push(request.headers.authorization);
    bodies.push(await text(request));
    response.writeHead(201).end(JSON.stringify(LIST));
  };
  const answer = await recommendations({ ...asking(), context: { country: "PT" }, userAgent: "a browser" });
  expect(answer).toEqual({ actions: [{ id: "hat", impressionId: "7-hat" }] });
  await recommendations({ ...asking(), consent: undefined as unknown as boolean });
  expect([worker.asked[0], keys[0]]).toEqual(["POST /v1/models/my%20shop/recommendations", "Bearer sk"]);
  expect(bodies.map((body) => JSON.parse(body))).toEqual([
    { context: { country: "PT" }, limit: 2, userAgent: "a browser", defer: true, learn: true },
    { limit: 2, defer: true, learn: false },
  ]);
});

it.each<[string, RequestListener, string]>([
  ["an error", (_, response) => response.writeHead(429).end("busy"), "the worker answered 429: busy"],
  ["a page", (_, response) => response.end("<html>"), "expected a list of recommendations from the worker, got <html>"],
  ["an answer that never ends", (_, response) => response.writeHead(201).write("{"), "the worker did not answer within 50 ms"],
  ["silence", () => undefined, "the worker did not answer within 50 ms"],
  ["a broken connection", (request) => request.destroy(), "fetch failed"],
])("answers with an error after %s", async (_, answer, error) => {
  worker.answer = answer;
  expect(await recommendations({ ...asking(), timeoutMs: 50 })).toEqual({ actions: [], error });
});

it("lets pass by what a framework throws to end a static rendering", async () => {
  const { fetch } = globalThis;
  const signal = Object.assign(new Error("dynamic"), { digest: "DYNAMIC_SERVER_USAGE" });
  globalThis.fetch = () => Promise.reject(signal);
  try {
    await expect(recommendations(asking())).rejects.toBe(signal);
  } finally {
    globalThis.fetch = fetch;
  }
});

it("names a missing option", () => {
  expect(() => recommendations({ ...asking(), key: "" })).toThrow(new TypeError('recommendations: key: expected a text, got ""'));
  expect(() => recommendations({ ...asking(), url: undefined as unknown as string })).toThrow("recommendations: url: expected a text");
});

const products = [
  { id: "boots", title: "Winter boots" },
  { id: "hat", title: "Felt hat" },
  { id: "scarf", title: "Long scarf" },
];
function List({ initial }: { readonly initial?: Parameters<typeof useRecommendations>[0]["initial"] }) {
  const { items, status, error } = useRecommendations({ fallback: products, initial, limit: 2 });
  const cards = items.map((item) => createElement(Impression, { key: item.id, of: item, as: "li", title: item.impressionId }, item.title));
  return createElement("ul", { className: status, id: error?.message }, cards);
}
const rendered = (props: object): string => {
  const provider = { url: "https://learn.shop.example", publishableKey: "pk", model: "shop", consent: true };
  return renderToString(createElement(Afterclick, provider, createElement(List, props)));
};

it("renders the answer, or as many placeholders as items will come, or the shop's own list", () => {
  expect(rendered({ initial: LIST })).toBe('<ul class="ready"><li title="7-hat">Felt hat</li></ul>');
  expect(rendered({})).toBe('<ul class="loading"><li>Winter boots</li><li>Felt hat</li></ul>');
  expect(rendered({ initial: { actions: [], error: "down" } })).toBe(
    '<ul class="fallback" id="down"><li>Winter boots</li><li>Felt hat</li></ul>',
  );
});

it("takes ids alone for products", () => {
  const Ids = () => createElement("p", null, JSON.stringify(useRecommendations({ fallback: ["boots", "hat"], initial: LIST }).items));
  const provider = { url: "https://learn.shop.example", publishableKey: "pk", model: "shop", consent: true };
  expect(renderToString(createElement(Afterclick, provider, createElement(Ids)))).toContain(
    "{&quot;id&quot;:&quot;hat&quot;,&quot;impressionId&quot;:&quot;7-hat&quot;}",
  );
});
