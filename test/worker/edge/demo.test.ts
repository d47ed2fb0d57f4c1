import { beforeAll, describe, expect, it } from "vitest";
import { SHOP_MODEL, shopActions, shopModel } from "../../../src/simulation/assortment.ts";
import { app } from "../../../worker/edge/app.ts";
import { type CallOptions, call, createModel, recommend, statusOf } from "../support/client.ts";

// The demonstration's backend asks for no key. Only the shop's model is behind it, except on the developer's own machine.

const env = { AFTERCLICK_DEMO: "true" };
const local: CallOptions["isolate"] = {
  fetch: (request, ...others) => app.fetch(new Request(request.url.replace("http://worker", "http://localhost"), request), ...others),
};
const ask = (method: string, path: string, body?: object, isolate = app as CallOptions["isolate"]) =>
  call(method, `/demo${path}`, body, { key: null, env, isolate });

let [own, other] = ["", ""];
beforeAll(async () => {
  await call("PUT", `/v1/models/${SHOP_MODEL}`, shopModel);
  await call("PUT", `/v1/models/${SHOP_MODEL}/actions`, { actions: shopActions });
  [own] = await recommend(SHOP_MODEL);
  [other] = await recommend(await createModel());
});

describe("an impression of another model than the shop's", () => {
  it.each(["/purchases", "/returns"])("is refused at %s with all that came with it, on every host", async (path) => {
    const happened = [own, other].map((impressionId) => ({ impressionId, agoMs: 0 }));
    for (const isolate of [app, local]) {
      expect(await ask("POST", path, { happened }, isolate)).toMatchObject({
        status: 404,
        body: { detail: "there is no such impression" },
      });
    }
    expect([await statusOf(own), await statusOf(other)]).toEqual(["pending", "pending"]);
  });

  it("is explained on the developer's own machine alone", async () => {
    const refused = { status: 404, body: { detail: "there is no such impression" } };
    expect(await ask("GET", `/impressions/${other}`)).toMatchObject(refused);
    expect(await ask("GET", "/impressions/forged")).toMatchObject(refused);
    for (const [id, isolate] of [
      [own, app],
      [own, local],
      [other, local],
    ] as const) {
      expect(await ask("GET", `/impressions/${id}`, undefined, isolate)).toMatchObject({ status: 200, body: { impressionId: id } });
    }
  });

  it("is left out of what the shop looks up", async () => {
    const looked = async (isolate?: CallOptions["isolate"]) => {
      const { body } = await ask(
        "GET",
        `/knowledge?profile=mira&impression=${own}&impression=${other}&impression=forged`,
        undefined,
        isolate,
      );
      return body.impressions.map(({ impressionId }: { impressionId: string }) => impressionId);
    };
    expect(await looked()).toEqual([own]);
    expect(await looked(local)).toEqual([own, other]);
  });
});

it("takes purchases of the shop's own impressions", async () => {
  const happened = [own, "forged"].map((impressionId) => ({ impressionId, agoMs: 0 }));
  const { status, body } = await ask("POST", "/purchases", { happened });
  expect([status, body.conversions.map(({ status }: { status: string }) => status)]).toEqual([202, ["applied", "unknown"]]);
});
