import { policies } from "afterclick";
import { expect, it } from "vitest";
import { settings } from "../../policies/listed.ts";
import { candidatesFor, type Setting, stream } from "../../support/scenario.ts";
import { call, convert, describeModel, HOUR_MS } from "../support/client.ts";

/** Settings that the worker serves. It refuses widths under the present posterior. */
const served = ({ options }: Setting): boolean => options.norms !== "exact";

it.each(policies.map(({ id }) => id))("serves %s and learns from a conversion", async (id) => {
  const setting = settings[id].find(served) as Setting;
  const { options } = setting;
  const model = `serves-${id}`;
  const created = await call("PUT", `/v1/models/${model}`, { policy: id, options, window: { ms: HOUR_MS } });
  expect(created).toMatchObject({ status: 201, body: { policy: id } });
  const actions = candidatesFor(setting, stream(1));
  for (let round = 0; round < 3; round++) {
    // A policy without features still has actions. Without an encoder the worker names their features.
    const unnamed = "dimension" in options ? actions : actions?.map(({ id }) => ({ id }));
    const body = unnamed ? { actions: unnamed } : {};
    const reply = await call("POST", `/v1/models/${model}/recommendations`, body);
    expect(reply.status).toBe(201);
    const { impressionId } = reply.body.actions[0];
    expect((await convert({ impressionId, reward: 0.5 })).body.conversions).toMatchObject([{ status: "applied" }]);
  }
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 3, converted: 3 });
});
