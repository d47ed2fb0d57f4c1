import { Catalogue } from "../domain/catalogue/catalogue.ts";
import { decodeRecord, recorded } from "../domain/catalogue/catalogue-record.ts";
import type { ModelConfig } from "../domain/model/model.ts";
import { decodePublication, encodePublication, type Publication } from "../domain/model/publication.ts";
import type { Environment } from "../environment.ts";
import { PublicationStore } from "../kv/publication-store.ts";
import { Problem } from "../protocol/problem.ts";
import { learner } from "../rpc/learner-client.ts";

/** The part of a configuration that a page needs to decide. */
export type LocalConfig = Pick<ModelConfig, "policy" | "window" | "encoder" | "draws" | "greedy" | "minimumShare">;

/**
 * The newest publication for pages: the served policy, the catalogue, and the part of the configuration that they need.
 *
 * @throws {Problem} 404 if there is no such model or it is not `local`; 503 if neither KV nor the learner can be reached.
 */
export async function localModel(
  env: Environment,
  model: string,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string }> {
  const { config, parts, catalogue, actions, ...publication } = await newest(env, model);
  if (!config.local) throw new Problem(404, 'the model is not open to pages: PATCH it with { "local": true }');
  const { policy, window, encoder, draws, greedy, minimumShare } = config;
  const open: LocalConfig = { policy, window, encoder, draws, greedy, minimumShare };
  const { generation, version, publishedAt } = publication;
  const bytes = await encodePublication({ ...publication, actions, catalogue, config: open, parts: parts.slice(0, 1) });
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
