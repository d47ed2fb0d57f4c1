import { finiteVector } from "../argument.ts";
import type { EncodedActions } from "../encoding/encoded-actions.ts";
import type { Families } from "../model/families.ts";
import { rowsAt } from "../model/ranking.ts";
import type { ChooseRequest } from "./choose-request.ts";
import type { PolicyContext, ScoreRequest } from "./rule.ts";

/** Candidates by their features (k x d, row-major), or as encoded actions of a catalogue. */
export interface Given {
  readonly count: number;
  readonly dimension: number;
  readonly points: Float64Array | undefined;
  readonly encoded: EncodedActions | undefined;
}

/** The request of one decision to its rule. A single object, because copies would take as long as a decision among few candidates. */
export class DecisionRequest implements ScoreRequest {
  readonly count: number;
  readonly encoded: EncodedActions | undefined;
  readonly trial: number;
  readonly round: number;
  readonly now: number | undefined;
  readonly limit: number;
  readonly families: Families | undefined;
  readonly draws: number;
  readonly normals: (count: number) => Float64Array;
  readonly uniforms: (count: number) => Float64Array;
  readonly #dimension: number;
  #points: Float64Array | undefined;

  constructor(request: ChooseRequest, given: Given, limit: number, trial: number, { core, seed }: PolicyContext) {
    const { round, draws = 0, normals, uniforms } = request;
    this.count = given.count;
    this.encoded = given.encoded;
    this.#dimension = given.dimension;
    this.#points = given.points;
    this.trial = trial;
    this.round = round;
    this.now = request.now;
    this.limit = limit;
    this.families = request.families;
    this.draws = draws;
    const decision = () => request.decision ?? `round ${round}`;
    this.normals = (count) => {
      if (normals) return finiteVector("normals", normals, count);
      return core.normals(seed, draws > 0 ? `trial ${trial}` : decision(), count);
    };
    this.uniforms = (count) => (uniforms ? finiteVector("uniforms", uniforms, count) : core.uniforms(seed, decision(), count));
  }

  get points(): Float64Array {
    this.#points ??= (this.encoded as EncodedActions).matrix();
    return this.#points;
  }

  rows(indices: readonly number[]): Float64Array {
    return this.encoded ? this.encoded.rows(indices) : rowsAt(this.points, this.#dimension, indices);
  }
}
