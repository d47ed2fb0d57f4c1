import type { ImpressionRow } from "../domain/impression.ts";
import { giverOf } from "../domain/join-key.ts";
import type { ModelConfig } from "../domain/model.ts";
import { exponentAt, NONE, type Sampling } from "../domain/sampling.ts";
import { Problem } from "../protocol/problem.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** Says which impressions a model has room for. */
export class Admission {
  readonly #store: LearnerStore;
  readonly #config: Pick<ModelConfig, "limits" | "deferral" | "pageShare">;

  constructor(store: LearnerStore, config: ModelConfig) {
    this.#store = store;
    this.#config = config;
  }

  /** The sampling in force for a request of so many impressions. */
  sampling(count = 1): Sampling {
    const { limits, pageShare } = this.#config;
    const used = Math.max((this.#open + count - 1) / limits.open, this.#store.bytes / limits.bytes);
    const backend = exponentAt(used);
    return { backend, page: this.#store.hasRoomForPages(pageShare) ? backend : NONE };
  }

  /** @throws {Problem} 429 if so many impressions of a past log do not fit. */
  check(count: number): void {
    if (this.#room >= count) return;
    const { open, bytes } = this.#config.limits;
    throw new Problem(429, `the model holds as much as it may: ${open} open impressions, or ${bytes} bytes`);
  }

  /** @throws {Problem} 429 if so many deferred impressions do not fit. */
  checkDeferred(count: number, byPage: boolean): void {
    if (this.#roomForDeferred(byPage) >= count) return;
    const { deferred } = this.#config.limits;
    throw new Problem(429, `the model holds as many deferred impressions as it may: ${deferred}, half of them of pages`);
  }

  /** Tells of one shown impression after the other whether it fits. */
  fitting(): (shown: { readonly row: ImpressionRow; readonly deferred: boolean }) => boolean {
    const rooms = new Map<string, number>();
    return ({ row: { byPage }, deferred }) => {
      const kind = deferred ? giverOf(byPage) : "open";
      const room = rooms.get(kind) ?? (deferred ? this.#roomForDeferred(byPage) : this.#room);
      rooms.set(kind, room - 1);
      return room > 0;
    };
  }

  get #open(): number {
    return this.#store.impressions.countSince(this.#store.watermark);
  }

  get #room(): number {
    const { open, bytes } = this.#config.limits;
    return this.#store.bytes >= bytes ? 0 : open - this.#open;
  }

  /** Pages never take all places. Impressions that have waited too long are deleted first. */
  #roomForDeferred(byPage: boolean): number {
    const { limits, deferral } = this.#config;
    this.#store.transact(() => this.#store.impressions.deleteDeferred(Date.now() - deferral.ms));
    return (byPage ? Math.floor(limits.deferred / 2) : limits.deferred) - this.#store.impressions.deferred;
  }
}
