// One decision as its rule sees it: candidates, draws and the place to fill.

import type { EncodedActions } from "../encoding/encoded-actions.ts";
import type { Families } from "../model/families.ts";
import { rowsAt } from "../model/ranking.ts";
import { copyVector, finiteVector } from "../values/argument.ts";
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
  readonly boosts: Float64Array | undefined;
  readonly draws: number;
  readonly greedy: boolean;
  readonly #request: ChooseRequest;
  readonly #context: PolicyContext;
  readonly #dimension: number;
  #points: Float64Array | undefined;

  constructor(request: ChooseRequest, given: Given, limit: number, trial: number, context: PolicyContext) {
    this.#request = request;
    this.#context = context;
    this.count = given.count;
    this.encoded = given.encoded;
    this.#dimension = given.dimension;
    this.#points = given.points;
    this.trial = trial;
    this.round = request.round;
    this.now = request.now;
    this.limit = limit;
    this.families = request.families;
    this.boosts = request.boosts && checkedBoosts(request.boosts, given.count);
    this.draws = request.draws ?? 0;
    this.greedy = request.greedy === true;
  }

  // Functions are made when a rule asks for them, because most rules ask for none.

  get normals(): (count: number) => Float64Array {
    const { normals } = this.#request;
    if (normals) return (count) => finiteVector("normals", normals, count);
    const { core, seed } = this.#context;
    const name = this.draws > 0 ? `trial ${this.trial}` : this.#decision;
    return (count) => core.normals(seed, name, count);
  }

  get uniforms(): (count: number) => Float64Array {
    const { uniforms } = this.#request;
    if (uniforms) return (count) => finiteVector("uniforms", uniforms, count);
    const { core, seed } = this.#context;
    return (count) => core.uniforms(seed, this.#decision, count);
  }

  get #decision(): string {
    return this.#request.decision ?? `round ${this.round}`;
  }

  get ids(): readonly string[] {
    const { candidates } = this.#request;
    return Array.from({ length: this.count }, (_, index) => candidates?.[index].id ?? String(index));
  }

  get points(): Float64Array {
    this.#points ??= (this.encoded as EncodedActions).matrix();
    return this.#points;
  }

  rows(indices: readonly number[]): Float64Array {
    return this.encoded ? this.encoded.rows(indices) : rowsAt(this.points, this.#dimension, indices);
  }
}

/** Undefined if all are 0. @throws {TypeError | RangeError} naming the entry. */
function checkedBoosts(given: ArrayLike<number>, count: number): Float64Array | undefined {
  const boosts = new Float64Array(count);
  copyVector("boosts", given, count, boosts);
  return boosts.some((each) => each !== 0) ? boosts : undefined;
}
