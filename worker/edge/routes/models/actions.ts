// `/v1/models/:model/actions`: reads, replaces or changes a catalogue.

import { Hono } from "hono";
import * as v from "valibot";
import { catalogue, wholeCatalogue } from "../../../protocol/answers.ts";
import { listOr, strictObject } from "../../../protocol/forms.ts";
import { type Operations, ofModel, withBody } from "../../../protocol/operation.ts";
import { actionsPatch, catalogueAction, catalogueActions } from "../../../protocol/schema.ts";
import { valid } from "../../../protocol/validation.ts";
import { learner } from "../../../rpc/learner-client.ts";
import { secretKey } from "../../access/api-keys.ts";
import { bodyLimit, MAX_LARGE_BYTES } from "../../access/body-limit.ts";
import type { Edge } from "../../edge.ts";
import { modelPath } from "../../model-path.ts";

/** A list of actions, or an object with one. */
export const actionsBody = v.pipe(
  listOr(catalogueActions, strictObject({ actions: catalogueActions })),
  v.transform((body) => (Array.isArray(body) ? body : body.actions)),
);

export const actions = (edge: Edge) =>
  new Hono()
    .use("/v1/models/:model/actions", bodyLimit(MAX_LARGE_BYTES))
    .get("/v1/models/:model/actions", secretKey, modelPath, async (c) => {
      return c.json(await learner(c.env, c.req.valid("param").model, (stub) => stub.actions()), 200);
    })
    .put("/v1/models/:model/actions", secretKey, modelPath, valid("json", actionsBody), async (c) => {
      const { model } = c.req.valid("param");
      const counted = await edge.change(c.env, model, (stub) => stub.setActions(c.req.valid("json")));
      return c.json(counted, 200);
    })
    .patch("/v1/models/:model/actions", secretKey, modelPath, valid("json", actionsPatch), async (c) => {
      const { model } = c.req.valid("param");
      const counted = await edge.change(c.env, model, (stub) => stub.changeActions(c.req.valid("json")));
      return c.json(counted, 200);
    });

export const operations = (): Operations => {
  const counted = { description: "Number of actions, and the version of the catalogue.", schema: { Catalogue: catalogue } };
  return {
    "GET /v1/models/:model/actions": {
      id: "getActions",
      summary: "Read the catalogue",
      answers: { 200: { description: "All actions, and the version of the catalogue.", schema: { WholeCatalogue: wholeCatalogue() } } },
      problems: ofModel,
    },
    "PUT /v1/models/:model/actions": {
      id: "setActions",
      summary: "Replace the catalogue",
      description:
        "Requests may then name actions by id. A request without actions chooses among all that are available. Attributes are for filters, maxPer and boosts, and are not learnt from.",
      body: { ActionsBody: actionsBody, CatalogueAction: catalogueAction },
      examples: () => ({
        named: {
          actions: [
            { id: "boots", features: { brand: "Acme", price: 120 } },
            { id: "hat", features: { brand: "Umbra", price: 35 }, attributes: { sale: true }, available: true },
          ],
        },
      }),
      answers: { 200: counted },
      problems: [...withBody, ...ofModel],
    },
    "PATCH /v1/models/:model/actions": {
      id: "changeActions",
      summary: "Add, change and remove actions of the catalogue",
      description:
        "Changes the fields that an action names and keeps its others. Impressions of a changed or removed action stay valid: they were learnt with the features that they were shown with, and their conversions count.",
      body: { ActionsPatch: actionsPatch },
      examples: () => ({
        cheaper: { actions: [{ id: "hat", features: { brand: "Umbra", price: 30 } }] },
        added: { actions: [{ id: "scarf", features: { brand: "Umbra", price: 25 } }] },
        soldOut: { actions: [{ id: "scarf", available: false }] },
        removed: { remove: ["scarf"] },
      }),
      answers: { 200: counted },
      problems: [...withBody, ...ofModel],
    },
  };
};
