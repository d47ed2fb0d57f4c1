// Reads the impressions of a registration one by one, so that a large one needs no large list.

import { Block, type BlockRow } from "../../../domain/impression/block.ts";
import { isKept } from "../../../domain/impression/sampling.ts";
import type { Policies } from "../../../domain/model/policies.ts";
import { Problem } from "../../../protocol/problem.ts";
import type { ShownBatch, ShownDecision } from "../../../rpc/message.ts";
import type { LearningModel } from "../../model/learning-model.ts";

/** An impression of a registration. */
export interface Arrival {
  readonly place: number;
  readonly id: string;
  readonly shownAt: number;
  readonly byPage: boolean;
  readonly deferred: boolean;
  readonly decision: ShownDecision;
  /** Decoded once. */
  features(): Float64Array;
}

/** Impressions of versions before a row, whose features are made again. */
export interface Earlier {
  readonly until: number;
  features(row: BlockRow): Float64Array;
}

/** The impressions of a registration, read one by one. */
export class Arrivals {
  readonly all: readonly Arrival[];
  readonly #block: Block | null;
  readonly #earlier: Earlier;

  /** @throws {Problem} 422 if the block is not whole, or does not have the impressions that the decisions state. */
  constructor({ decisions, block: bytes }: Pick<ShownBatch, "decisions" | "block">, earlier: Earlier) {
    this.#earlier = earlier;
    const block = bytes && wholeBlock(bytes);
    const stated = decisions.flatMap((decision) => Array.from({ length: decision.count }, () => decision));
    if (stated.length !== (block?.count ?? 0))
      throw new Problem(422, `expected a block of ${stated.length} impressions, got ${block?.count ?? 0}`);
    this.#block = block;
    this.all = stated.map((decision, place): Arrival => {
      const { byPage, deferred } = decision;
      const [id, shownAt] = [(block as Block).id(place), (block as Block).shownAt(place)];
      let features: Float64Array | undefined;
      return {
        ...{ place, id, shownAt, byPage, deferred, decision },
        features: () => {
          features ??= this.#features(block as Block, place);
          return features;
        },
      };
    });
  }

  #features(block: Block, place: number): Float64Array {
    return this.#isEarlier(block, place) ? this.#earlier.features(block.row(place)) : block.features(place);
  }

  #isEarlier(block: Block, place: number): boolean {
    return block.common(place).version < this.#earlier.until;
  }

  /** Registers some of the impressions in a model: the whole block as it is, if they are all and are shown, else row by row. */
  registerIn(live: LearningModel, policies: Policies | undefined, arrivals: readonly Arrival[]): void {
    const block = this.#block;
    if (block === null || arrivals.length === 0) return;
    const keys = (place: number) => this.all[place].decision.keys;
    const isWhole = arrivals.length === block.count && new Set(arrivals.map(({ id }) => id)).size === block.count;
    const asItIs = ({ place, id, deferred }: Arrival) => {
      return !deferred && isKept(id, block.common(place).sampling) && !this.#isEarlier(block, place);
    };
    if (isWhole && arrivals.every(asItIs)) {
      live.registerBlock(policies, block, { keys, features: (place) => this.all[place].features() });
      return;
    }
    for (const deferred of [false, true]) {
      const own = arrivals.filter((each) => each.deferred === deferred);
      const rows = own.map(({ place, features }) => ({ ...block.row(place), features: features(), keys: keys(place) }));
      if (rows.length > 0) live.register(policies, rows, { deferred });
    }
  }
}

function wholeBlock(bytes: Uint8Array<ArrayBuffer>): Block {
  try {
    return new Block(bytes);
  } catch (error) {
    throw new Problem(422, (error as Error).message);
  }
}
