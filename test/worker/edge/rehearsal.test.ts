import { afterEach, expect, it, vi } from "vitest";
import { TokenSigner } from "../../../worker/domain/ids/token.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { rehearse } from "../../../worker/edge/rehearsal.ts";
import { call, createModel } from "../support/client.ts";

afterEach(() => vi.restoreAllMocks());

it("decides, without a word", async () => {
  const signed = vi.spyOn(TokenSigner.prototype, "sign");
  const warned = vi.spyOn(console, "warn");
  await rehearse(createApp());
  expect(signed).toHaveBeenCalled();
  expect(warned).not.toHaveBeenCalled();
});

it("says that it has failed, and the worker serves all the same", async () => {
  vi.spyOn(TokenSigner, "create").mockImplementationOnce(() => {
    throw new Error("no signer");
  });
  const warned = vi.spyOn(console, "warn").mockReturnValue();
  await rehearse(createApp());
  expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("its rehearsal failed: no signer"));
  const model = await createModel();
  const { status } = await call("POST", `/v1/models/${model}/recommendations`, { limit: 1 });
  expect(status).toBe(201);
});

it("leaves no model behind", async () => {
  expect((await call("GET", "/v1/models/rehearsal")).status).toBe(404);
});
