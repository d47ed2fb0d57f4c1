import type { EncoderOptions } from "afterclick";
import { decode } from "../publication/codec.ts";
import type { Action } from "../publication/featurizer.ts";

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
  /** Version of `actions` within the generation. Workers of earlier versions state none. */
  readonly catalogue?: number;
  readonly actions: readonly Action[];
  /** The served policy, for `Recommender.restore`. Absent while the worker learns the model's log again after an upgrade. */
  readonly part?: Uint8Array;
}

/** @throws {SnapshotError} code `truncated`, `checksum`, `malformed`, or `version` if a newer version of this module is needed. */
export async function readPublication(bytes: Uint8Array<ArrayBuffer>): Promise<Publication> {
  const { header, parts } = await decode<Omit<Publication, "part">>(bytes);
  return { ...header, ...(parts.length > 0 && { part: parts[0] }) };
}

/** Whether publication `a` replaces `b`. The worker may answer with one of a minute ago, because KV does. */
export function isNewer(a: Publication, b: Publication): boolean {
  const [own, other] = [a, b].map(({ generation, version, catalogue = 0, publishedAt }) => [generation, version, catalogue, publishedAt]);
  const first = own.findIndex((number, i) => number !== other[i]);
  return first >= 0 && own[first] > other[first];
}
