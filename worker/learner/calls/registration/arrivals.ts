// Reads the impressions of a registration one by one, so that a large one needs no large list.

import { Block, type BlockRow } from "../../../domain/impression/block.ts";
import { isKept } from "../../../domain/impression/sampling.ts";
import type { Policies } from "../../../domain/model/policies.ts";
import { Problem } from "../../../protocol/problem.ts";
import type { ShownBatch, ShownDecision } from "../../../rpc/message.ts";
import type { LearningModel } from "../../model/learning-model.ts";

/** An impression of a registration. */
interface Arrival {
  readonly place: number;
  readonly id: string;
  readonly shownAt: number;
  readonly deferred: boolean;
  readonly decision: ShownDecision;
  /** Whether its bytes in the block can be stored as they are. */
  readonly isAsStored: boolean;
  /** Decoded once. */
  features(): Float64Array;
}

/** Impressions of versions before a row, whose features are made again. */
interface Earlier {
  readonly until: number;
  features(row: BlockRow): Float64Array;
}

/** The impressions of a registration, read one by one. */
export class Arrivals {
  readonly all: readonly Arrival[];
  readonly #block: Block | null;

  /** @throws {Problem} 422 if the block is not whole, or does not have the impressions that the decisions state. */
  constructor({ decisions, block: bytes }: Pick<ShownBatch, "decisions" | "block">, earlier: Earlier) {
    const block = bytes && wholeBlock(bytes);
    const stated = decisions.flatMap((decision) => Array.from({ length: decision.count }, () => decision));
    if (stated.length !== (block?.count ?? 0))
      throw new Problem(422, `expected a block of ${stated.length} impressions, got ${block?.count ?? 0}`);
    this.#block = block;
    this.all = stated.map((decision, place) => arrivalOf(block as Block, place, decision, earlier));
  }

  /** Registers some of the impressions in a model: the whole block as it is, if they are all and are shown, else row by row. */
  registerIn(live: LearningModel, policies: Policies | undefined, arrivals: readonly Arrival[]): void {
    const block = this.#block;
    if (block === null || arrivals.length === 0) return;
    const keys = (place: number) => this.all[place].decision.keys;
    const isWhole = arrivals.length === block.count && new Set(arrivals.map(({ id }) => id)).size === block.count;
    if (isWhole && arrivals.every(({ isAsStored }) => isAsStored)) {
      live.registerBlock(policies, block, { keys, features: (place) => this.all[place].features() });
      return;
    }
    const rowsOf = (deferred: boolean) => {
      const own = arrivals.filter((each) => each.deferred === deferred);
      return own.map(({ place, features }) => ({ ...block.row(place), features: features(), keys: keys(place) }));
    };
    live.register(policies, rowsOf(false), rowsOf(true));
  }
}

function arrivalOf(block: Block, place: number, decision: ShownDecision, earlier: Earlier): Arrival {
  const { deferred } = decision;
  const [id, shownAt, { version, sampling }] = [block.id(place), block.shownAt(place), block.common(place)];
  const isEarlier = version < earlier.until;
  let features: Float64Array | undefined;
  return {
    ...{ place, id, shownAt, deferred, decision, isAsStored: !deferred && !isEarlier && isKept(id, sampling) },
    features: () => {
      features ??= isEarlier ? earlier.features(block.row(place)) : block.features(place);
      return features;
    },
  };
}

function wholeBlock(bytes: Uint8Array<ArrayBuffer>): Block {
  try {
    return new Block(bytes);
  } catch (error) {
    throw new Problem(422, (error as Error).message);
  }
}
