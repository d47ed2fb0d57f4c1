import { MAX_DECISION_BYTES } from "../../domain/catalogue/page-rules.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { exponentAt, NONE, type Sampling } from "../../domain/impression/sampling.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import { Problem } from "../../protocol/problem.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Shares } from "./shares.ts";

/** Most refused impressions that are remembered. */
const MOST_REFUSED = 10_000;

/** The sender of a request that uses up a limit. `asker`: the name of a page's address in this minute. */
export interface Asking {
  readonly byPage: boolean;
  readonly asker?: string;
}

/** Says which impressions a model has room for. */
export class Admission {
  readonly #store: LearnerStore;
  readonly #config: Pick<ModelConfig, "deferral" | "pageShare">;
  readonly #shares: Shares;
  /** Ids of impressions that were refused lately. A page cannot bring them back. */
  readonly #refused = new Set<string>();

  constructor(store: LearnerStore, config: ModelConfig, shares: Shares) {
    this.#store = store;
    this.#config = config;
    this.#shares = shares;
  }

  /** The sampling in force for a request of so many impressions. An asker that has had its share gets none. */
  sampling(count = 1, asker?: string): Sampling {
    const allowance = this.#store.allowances.part;
    const used = Math.max(share(this.#open + count - 1, allowance.open), share(this.#store.bytes, allowance.bytes));
    const backend = exponentAt(used);
    const fits = asker === undefined ? this.#roomForPages > 0 : this.#take(asker, count, this.#room);
    return { backend, page: fits ? backend : NONE };
  }

  /** @throws {Problem} 429 if so many impressions of a past log do not fit. */
  check(count: number): void {
    if (this.#room >= count) return;
    const { open, bytes } = this.#store.allowances.part;
    throw new Problem(429, `the model holds as much as it may: ${open} open impressions, or ${bytes} bytes`);
  }

  /** @throws {Problem} 429 if so many deferred impressions do not fit. */
  checkDeferred(count: number, asking: Asking): void {
    if (this.waiting()(asking, count)) return;
    const { deferred } = this.#store.allowances.part;
    const ofPages = "those of pages up to half of it, and those of one address up to a tenth of the rest in a minute";
    throw new Problem(429, `the model holds as many deferred impressions as it may: ${deferred}, ${ofPages}`);
  }

  /** Tells of one shown impression after the other whether it fits, and remembers those that do not. */
  fitting(): (shown: { readonly id: string; readonly deferred: boolean; readonly decision: Asking }) => boolean {
    let [room, roomForPages] = [this.#room, this.#roomForPages];
    const waits = this.waiting();
    const fits = (deferred: boolean, { byPage, asker }: Asking): boolean => {
      if (byPage && roomForPages <= 0) return false;
      if (deferred ? !waits({ byPage, asker }) : !this.#take(asker, 1, room)) return false;
      if (!deferred) room--;
      if (byPage) roomForPages--;
      return true;
    };
    return ({ id, deferred, decision }) => {
      const isTaken = !this.isRefused(id) && fits(deferred, decision);
      if (!isTaken) this.#refuse(id);
      return isTaken;
    };
  }

  /**
   * Tells of one thing after the other whether it may wait: an impression for being shown, or a page's report for an impression that is not
   * registered. Whatever has waited too long is deleted first.
   */
  waiting(): (asking: Asking, count?: number) => boolean {
    let waiting: number | undefined;
    return ({ byPage, asker }, count = 1) => {
      if (waiting === undefined) {
        this.#store.transact(() => this.#store.deleteWaiting(Date.now() - this.#config.deferral.ms));
        waiting = this.#store.waiting;
      }
      if (!this.#shares.fits("waiting", asker, count, this.#mostWaiting(byPage) - waiting)) return false;
      this.#shares.use("waiting", asker, count);
      waiting += count;
      return true;
    };
  }

  /** Tells of one impression after the other whether a page's report may wait for it. None may near the limit of bytes. */
  reports(asker?: string): (id: string) => boolean {
    const waits = this.waiting();
    const isNear = exponentAt(share(this.#store.bytes, this.#store.allowances.part.bytes)) > 0;
    const oldest = Date.now() - this.#config.deferral.ms;
    return (id) => !isNear && !this.isRefused(id) && shownAtOf(id) >= oldest && waits({ byPage: true, asker });
  }

  isRefused(id: string): boolean {
    return this.#refused.has(id);
  }

  #refuse(id: string): void {
    this.#refused.add(id);
    const [oldest] = this.#refused;
    if (this.#refused.size > MOST_REFUSED) this.#refused.delete(oldest);
  }

  /** Whether an asker may bring so many impressions. Each may be as long as the request of a page. */
  #take(asker: string | undefined, count: number, room: number): boolean {
    const left = asker === undefined ? room : Math.min(room, this.#roomForPages, this.#bytesLeft / MAX_DECISION_BYTES);
    const fits = this.#shares.fits("impressions", asker, count, left);
    if (fits) this.#shares.use("impressions", asker, count);
    return fits;
  }

  get #open(): number {
    return this.#store.tallies.countSince(this.#store.watermark);
  }

  get #room(): number {
    return this.#bytesLeft <= 0 ? 0 : this.#store.allowances.part.open - this.#open;
  }

  get #bytesLeft(): number {
    return this.#store.allowances.part.bytes - this.#store.bytes;
  }

  get #roomForPages(): number {
    return this.#store.samples.roomForPages(this.#config.pageShare);
  }

  /** Pages take neither more than half of the places nor, with the longest requests, more than half of the bytes. */
  #mostWaiting(byPage: boolean): number {
    const { deferred, bytes } = this.#store.allowances.part;
    return byPage ? Math.floor(Math.min(deferred, bytes / MAX_DECISION_BYTES) / 2) : deferred;
  }
}

/** A part of a limit. A shard without an allowance has used all of it. */
const share = (used: number, limit: number): number => (limit > 0 ? used / limit : 1);
