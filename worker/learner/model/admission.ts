import { exponentAt, NONE, type Sampling } from "../../domain/impression/sampling.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import { Problem } from "../../protocol/problem.ts";
import type { LearnerStore } from "../store/learner-store.ts";

/** Says which impressions a model has room for. */
export class Admission {
  readonly #store: LearnerStore;
  readonly #config: Pick<ModelConfig, "deferral" | "pageShare">;

  constructor(store: LearnerStore, config: ModelConfig) {
    this.#store = store;
    this.#config = config;
  }

  /** The sampling in force for a request of so many impressions. */
  sampling(count = 1): Sampling {
    const allowance = this.#store.allowances.part;
    const used = Math.max(share(this.#open + count - 1, allowance.open), share(this.#store.bytes, allowance.bytes));
    const backend = exponentAt(used);
    return { backend, page: this.#store.samples.roomForPages(this.#config.pageShare) > 0 ? backend : NONE };
  }

  /** @throws {Problem} 429 if so many impressions of a past log do not fit. */
  check(count: number): void {
    if (this.#room >= count) return;
    const { open, bytes } = this.#store.allowances.part;
    throw new Problem(429, `the model holds as much as it may: ${open} open impressions, or ${bytes} bytes`);
  }

  /** @throws {Problem} 429 if so many deferred impressions do not fit. */
  checkDeferred(count: number, byPage: boolean): void {
    if (this.#deferred() + count <= this.#mostDeferred(byPage)) return;
    const { deferred } = this.#store.allowances.part;
    throw new Problem(429, `the model holds as many deferred impressions as it may: ${deferred}, and those of pages up to half of it`);
  }

  /** Tells of one shown impression after the other whether it fits. */
  fitting(): (shown: { readonly byPage: boolean; readonly deferred: boolean }) => boolean {
    let [room, roomForPages] = [this.#room, this.#store.samples.roomForPages(this.#config.pageShare)];
    let waiting: number | undefined;
    return ({ byPage, deferred }) => {
      if (byPage && roomForPages <= 0) return false;
      if (deferred) {
        waiting ??= this.#deferred();
        if (waiting >= this.#mostDeferred(byPage)) return false;
        waiting++;
      } else if (room-- <= 0) return false;
      if (byPage) roomForPages--;
      return true;
    };
  }

  get #open(): number {
    return this.#store.tallies.countSince(this.#store.watermark);
  }

  get #room(): number {
    const { open, bytes } = this.#store.allowances.part;
    return this.#store.bytes >= bytes ? 0 : open - this.#open;
  }

  /** Pages never take all places. */
  #mostDeferred(byPage: boolean): number {
    const { deferred } = this.#store.allowances.part;
    return byPage ? Math.floor(deferred / 2) : deferred;
  }

  /** Number of deferred impressions. Those that have waited too long are deleted first. */
  #deferred(): number {
    this.#store.transact(() => this.#store.impressions.deleteDeferred(Date.now() - this.#config.deferral.ms));
    return this.#store.impressions.deferred;
  }
}

/** A part of a limit. A shard without an allowance has used all of it. */
const share = (used: number, limit: number): number => (limit > 0 ? used / limit : 1);
