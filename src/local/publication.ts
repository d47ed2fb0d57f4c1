// Reads the publication of a worker in a page. Nothing of it is trusted before it has been checked.

import type { EncoderOptions } from "afterclick";
import type { Action } from "afterclick/research";
import { decode, malformed } from "../publication/codec.ts";

/** Most draws of a model. */
const MOST_DRAWS = 1000;

/** A publication for pages, as `GET /v1/models/:model/published` returns it. */
export interface Publication {
  readonly model: string;
  /** Start of the model, in ms since 1970. A model that was reset has a later one. */
  readonly generation: number;
  /** Versions count up within a generation. */
  readonly version: number;
  /** Time of publication, in ms since 1970. */
  readonly publishedAt: number;
  readonly config: {
    readonly policy: string;
    readonly window: { readonly ms: number };
    readonly encoder: EncoderOptions | null;
    readonly draws: number;
    readonly greedy: boolean;
    readonly minimumShare: number;
  };
  /** Version of `actions` within the generation. */
  readonly catalogue: number;
  readonly actions: readonly Action[];
  /** The served policy, for `Recommender.restore`. Absent while the worker learns the model's log again after an upgrade. */
  readonly part?: Uint8Array;
}

/** @throws {SnapshotError} code `truncated`, `checksum`, `malformed`, or `version` if a newer version of this module is needed. */
export async function readPublication(bytes: Uint8Array<ArrayBuffer>): Promise<Publication> {
  const { header, parts } = await decode<Omit<Publication, "part">>(bytes);
  return { ...header, ...(parts.length > 0 && { part: parts[0] }) };
}

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isFinite(value) && (value as number) >= 0 && (value as number) <= most;

/** Checks everything that a page reads of a publication. @throws {SnapshotError} code `malformed`: another program wrote it. */
export function checkPublication({ model, generation, version, publishedAt, catalogue, config, actions }: Publication): void {
  const { policy, window, encoder, draws, greedy, minimumShare } = Object(config) as Publication["config"];
  // The featurizer reads features by name.
  const isAction = ({ id, features = [] }: Action): boolean =>
    isText(id) && (encoder !== null || (Array.isArray(features) && features.every(Number.isFinite)));
  const holds =
    [model, policy].every(isText) &&
    [generation, version, publishedAt, catalogue, Object(window).ms].every((number) => isNumber(number)) &&
    isNumber(draws, MOST_DRAWS) &&
    Number.isInteger(draws) &&
    isNumber(minimumShare, 1) &&
    typeof greedy === "boolean" &&
    (encoder === null || typeof encoder === "object") &&
    Array.isArray(actions) &&
    actions.every((action) => isAction(Object(action)));
  if (!holds) throw malformed();
}

/** Whether publication `a` replaces `b`. The worker may answer with one of a minute ago, because KV does. */
export function isNewer(a: Publication, b: Publication): boolean {
  const [own, other] = [a, b].map(({ generation, version, catalogue, publishedAt }) => [generation, version, catalogue, publishedAt]);
  const first = own.findIndex((number, i) => number !== other[i]);
  return first >= 0 && own[first] > other[first];
}
