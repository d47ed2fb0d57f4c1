import type { EncoderOptions } from "afterclick";
import { decode, malformed } from "../publication/codec.ts";
import type { Action } from "../publication/featurizer.ts";

/** A publication for pages, as `GET /v1/models/:model/published` returns it. */
export interface Publication {
  readonly model: string;
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
  readonly actions: readonly Action[];
  /** The served policy, for `Recommender.restore`. */
  readonly part: Uint8Array;
}

/** @throws {SnapshotError} code `truncated`, `checksum`, `malformed`, or `version` if a newer version of this module is needed. */
export async function readPublication(bytes: Uint8Array<ArrayBuffer>): Promise<Publication> {
  const { header, parts } = await decode<Omit<Publication, "part">>(bytes);
  if (parts.length === 0) throw malformed();
  return { ...header, part: parts[0] };
}
