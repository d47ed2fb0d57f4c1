import { type EncoderOptions, encoder, type NamedFeatures, SnapshotError } from "afterclick";

/** Features by name if the model has an encoder, otherwise numbers. */
export type Features = NamedFeatures | readonly number[];

export interface Action {
  readonly id: string;
  readonly features?: Features;
}

/** A published model: the answer of `GET /v1/models/:model/published`. */
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
  /** For `Recommender.restore`. */
  readonly snapshot: Uint8Array;
}

const FORMAT = 1;
/** Version of the worker's encoding of features. */
const FEATURE_SCHEMA = 1;
const DIGEST_BYTES = 32;

/**
 * Reads a publication: the SHA-256 of the rest, the length of the header, the header as JSON, and a snapshot.
 * @throws {SnapshotError} code `truncated`, `checksum`, or `version` for a publication of another format.
 */
export async function readPublication(bytes: Uint8Array<ArrayBuffer>): Promise<Publication> {
  if (bytes.length < DIGEST_BYTES + 4) throw new SnapshotError("truncated", `expected a publication, got ${bytes.length} bytes`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.subarray(DIGEST_BYTES)));
  if (digest.some((byte, i) => byte !== bytes[i])) throw new SnapshotError("checksum", "the publication does not match its checksum");
  const end = DIGEST_BYTES + 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(DIGEST_BYTES);
  const { format, schema, lengths, ...header } = JSON.parse(new TextDecoder().decode(bytes.subarray(DIGEST_BYTES + 4, end)));
  if (format !== FORMAT || schema !== FEATURE_SCHEMA) {
    throw new SnapshotError("version", `publication format ${format}.${schema} is not the ${FORMAT}.${FEATURE_SCHEMA} of this version`);
  }
  return { ...header, snapshot: bytes.slice(end, end + lengths[0]) };
}

const RESOLUTION = 4096;
const toDyadic = (value: number): number => Math.trunc(value * RESOLUTION) / RESOLUTION + 0;

/**
 * Turns a context into the vectors of k actions, with the same bits as the worker: k x d, row-major. Actions are hashed only once.
 * @throws {TypeError | RangeError} naming the feature.
 */
export function featurizer(
  { encoder: options }: Publication["config"],
  actions: readonly Action[],
): (context: Features | undefined) => Float64Array {
  if (!options) {
    return (context = []) =>
      Float64Array.from(
        actions.flatMap(({ features = [] }) => [...numbers(context), ...numbers(features)]),
        toDyadic,
      );
  }
  const encode = encoder(options).among(actions.map(({ id, features = {} }) => ({ ...named(features), id })));
  return (context = {}) => encode(named(context));
}

function numbers(features: Features): readonly number[] {
  if (Array.isArray(features)) return features;
  throw new TypeError("features: expected an array of numbers, since the model has no encoder");
}

function named(features: Features): NamedFeatures {
  if (!Array.isArray(features)) return features as NamedFeatures;
  throw new TypeError("features: expected them by name, since the model has an encoder");
}
