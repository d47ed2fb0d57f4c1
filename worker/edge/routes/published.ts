// `GET /v1/models/:model/published`: the data with which a page decides by itself.

import { Hono } from "hono";
import { Catalogue } from "../../domain/catalogue/catalogue.ts";
import { decodeRecord, recorded } from "../../domain/catalogue/catalogue-record.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import { decodePublication, encodePublication, type Publication } from "../../domain/model/publication.ts";
import type { Environment } from "../../environment.ts";
import { PublicationStore } from "../../kv/publication-store.ts";
import { type Operations, ofModel } from "../../protocol/operation.ts";
import { Problem } from "../../protocol/problem.ts";
import { learner } from "../../rpc/learner-client.ts";
import { anyKey } from "../access/api-keys.ts";
import { crossOriginRead } from "../access/origin.ts";
import type { PageGuard } from "../access/page-guard.ts";
import { modelPath } from "../model-path.ts";

export const published = (guard: PageGuard) =>
  new Hono().use("/v1/models/:model/published", crossOriginRead).get("/v1/models/:model/published", anyKey, modelPath, guard, async (c) => {
    const { bytes, etag } = await localModel(c.env, c.req.valid("param").model);
    const headers = { etag, date: new Date().toUTCString(), "cache-control": "private, no-cache" };
    // What compresses an answer on its way makes the tag weak: W/"...".
    const known: readonly string[] = c.req.header("if-none-match")?.match(/"[^"]*"/g) ?? [];
    if (known.includes(etag)) return c.body(null, 304, headers);
    return c.body(bytes, 200, { ...headers, "content-type": "application/octet-stream" });
  });

/** The part of a configuration that a page needs to decide. */
type LocalConfig = Pick<ModelConfig, "policy" | "window" | "encoder" | "draws" | "greedy" | "minimumShare">;

/**
 * The newest publication for pages: the served policy, the catalogue, and the part of the configuration that they need.
 *
 * @throws {Problem} 404 if there is no such model or it is not `local`; 503 if neither KV nor the learner can be reached.
 */
async function localModel(env: Environment, model: string): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string }> {
  const { config, parts, catalogue, actions, ...publication } = await newest(env, model);
  if (!config.local) throw new Problem(404, 'the model is not open to pages: PATCH it with { "local": true }');
  const { policy, window, encoder, draws, greedy, minimumShare } = config;
  const open: LocalConfig = { policy, window, encoder, draws, greedy, minimumShare };
  const { generation, version, publishedAt } = publication;
  // Attributes serve filters, which pages do not have.
  const shown = actions.map(({ attributes: _, ...action }) => action);
  const bytes = await encodePublication({ ...publication, actions: shown, catalogue, config: open, parts: parts.slice(0, 1) });
  return { bytes, etag: `"${generation}-${version}-${publishedAt}-${catalogue}"` };
}

/** A publication with its catalogue. */
async function newest(env: Environment, model: string): Promise<Publication & Required<Pick<Publication, "actions">>> {
  const publication = await stored(env, model).catch(() => undefined);
  if (publication) return publication;
  return (await decodePublication(await learner(env, model, (stub) => stub.publication()))) as NonNullable<
    Awaited<ReturnType<typeof stored>>
  >;
}

/** The model in KV; undefined if its catalogue is older than the one that its publication needs. */
async function stored(env: Environment, model: string) {
  const store = new PublicationStore(env.EVENTS);
  const [bytes, record] = await Promise.all([store.get(model), store.getCatalogue(model)]);
  const publication = bytes && (await decodePublication(bytes));
  if (!publication) return undefined;
  const { generation, catalogue, actions } = publication;
  if (actions) return { ...publication, actions };
  const own = record && (await decodeRecord(record));
  const known = own?.generation === generation ? recorded(own, undefined) : new Catalogue([]);
  return known && known.version >= catalogue ? { ...publication, actions: known.actions, catalogue: known.version } : undefined;
}

export const operations = (): Operations => ({
  "GET /v1/models/:model/published": {
    id: "downloadPublished",
    summary: "Download the publication for afterclick/local",
    description: "The newest snapshot of the served policy, the catalogue and the encoder, preceded by their SHA-256. Local models only.",
    key: "publishable",
    answers: {
      200: { description: "The publication, with an ETag.", media: "application/octet-stream" },
      304: { description: "Unchanged since the ETag in If-None-Match." },
    },
    problems: [...ofModel, 429],
  },
});
