// Decides by a small model while the worker starts, so that the code of a first request has run before a visitor asks.

import * as v from "valibot";
import { Catalogue } from "../domain/catalogue/catalogue.ts";
import { encodeRecord, wholeRecord } from "../domain/catalogue/catalogue-record.ts";
import { decide } from "../domain/decision/decision.ts";
import type { Served } from "../domain/decision/served.ts";
import { TokenSigner } from "../domain/ids/token.ts";
import { withVocabulary } from "../domain/model/encoding.ts";
import { configureModel, featurizer, startModel } from "../domain/model/model.ts";
import { encodePublication } from "../domain/model/publication.ts";
import type { Environment } from "../environment.ts";
import { recommendationsBody } from "../protocol/schema.ts";
import { Edge } from "./edge.ts";
import { encoded } from "./outbox.ts";

const MODEL = "rehearsal";
const PRODUCTS = 20;
const DIMENSION = 64;
/** Further ones would make a start longer, and a first request no shorter. */
const REQUESTS = 4;

const context = (i: number) => ({ country: `country-${i % 3}`, device: `device-${i % 2}`, hour: i });

/**
 * Builds the router of an app, and decides in an isolate's place by a model that nobody asks for. Nothing of that is kept but code that has run.
 * A failure is logged, and leaves the first request slower.
 *
 * Cloudflare limits the time of a start apart from that of requests. At a start the runtime has no clock, no timers, no random numbers and no
 * bodies, so impressions have ids that follow from names, and nothing is sent.
 */
export async function rehearse({ router }: { readonly router: { match(method: string, path: string): unknown } }): Promise<void> {
  try {
    router.match("GET", "/healthz");
    const served = await small();
    const [env, edge, signer] = [await publishing(served), new Edge(), TokenSigner.create("token-of-the-rehearsal")];
    const background = { waitUntil: (work: Promise<unknown>) => void work.catch(() => {}) };
    for (let i = 0; i < REQUESTS; i++) {
      const body = v.parse(recommendationsBody, { context: context(i), limit: 6 });
      const keys = { backend: [], page: [] };
      const request = { ...body, byPage: true, asker: undefined, keys, unlearnt: undefined, repeat: signer.nameOf(`request ${i}`) };
      const { actions, ...rest } = await edge.recommend(env, background, MODEL, request);
      JSON.stringify(actions.map((each) => ({ ...each, id: signer.sign({ ...rest, ...each, model: MODEL }) })));
      const { rows } = decide(served, request, keys, 0);
      encoded([{ generation: GENERATION, rows, unsampled: 0, byPage: true, deferred: false }]);
    }
  } catch (error) {
    console.warn(`the first request will take longer, because its rehearsal failed: ${(error as Error).message}`);
  }
}

const [GENERATION, VERSION] = [1, 1];

/** A model that has learnt a little. */
async function small(): Promise<Served> {
  const actions = Array.from({ length: PRODUCTS }, (_, i) => ({ id: `${i}`, features: { brand: `brand-${i % 5}`, price: i } }));
  const numeric = { price: { min: 0, max: PRODUCTS }, hour: { min: 0, max: 24 } };
  const config = withVocabulary(await configureModel({ window: { ms: 1 }, encoder: { dimension: DIMENSION, numeric } }), actions);
  const policies = await startModel(config);
  const featurize = featurizer(config);
  for (const [i, action] of actions.entries()) {
    policies[0].register({ impressionId: action.id, features: featurize.vector(context(i), action), now: 0 });
    if (i % 3 === 0) policies[0].convert({ impressionId: action.id, reward: 1, at: 0 });
  }
  return { config, policies, version: VERSION, featurize, catalogue: new Catalogue(actions, VERSION) };
}

/** An environment whose KV holds a model, and whose learner has nothing newer. */
async function publishing({ config, policies, featurize, catalogue }: Served): Promise<Environment> {
  const edition = { model: MODEL, generation: GENERATION, version: VERSION, publishedAt: 0, config, catalogue: VERSION };
  const publication = await encodePublication({ ...edition, parts: policies.map((each) => each.publication()) });
  const record = await encodeRecord(wholeRecord(MODEL, GENERATION, catalogue, featurize.columns(catalogue.actions)));
  const get = async (key: string) => (key === `model/${MODEL}` ? publication : record).buffer;
  const newer = async () => ({ value: { publication: null, catalogue: null, newest: edition } });
  const learner = { idFromName: (name: string) => name, get: () => ({ newer }) };
  return { EVENTS: { get }, LEARNER: learner } as never;
}
