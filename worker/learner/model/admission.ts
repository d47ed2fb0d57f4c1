// Says whether a model has room for impressions, before anything of them is stored.

import { MAX_DECISION_BYTES } from "../../domain/catalogue/page-rules.ts";
import { LatestSet } from "../../domain/ids/latest-set.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { exponentAt, NONE, type Sampling } from "../../domain/impression/sampling.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import { Problem } from "../../protocol/problem.ts";
import type { Allowance } from "../../rpc/message.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Shares } from "./shares.ts";

/** Most refused impressions that are remembered. */
const MOST_REFUSED = 10_000;

/** The sender of a request that uses up a limit. `asker`: the name of a page's address in this minute. */
export interface Asking {
  readonly byPage: boolean;
  readonly asker?: string;
}

/** Open impressions and bytes that a model may still take of what it is allowed. */
interface Left {
  readonly allowance: Allowance;
  open: number;
  readonly bytes: number;
}

/** Says which impressions a model has room for. */
export class Admission {
  readonly #store: LearnerStore;
  readonly #config: Pick<ModelConfig, "deferral" | "pageShare">;
  readonly #shares: Shares;
  /** Ids of impressions that were refused lately. A page cannot bring them back. */
  readonly #refused = new LatestSet<string>(MOST_REFUSED);

  constructor(store: LearnerStore, config: ModelConfig, shares: Shares) {
    this.#store = store;
    this.#config = config;
    this.#shares = shares;
  }

  /** The sampling in force for a request of so many impressions. An asker that has had its share gets none. */
  sampling(count = 1, asker?: string): Sampling {
    return this.samplings()(count, asker);
  }

  /** The samplings in force for one request after the other. */
  samplings(): (count: number, asker?: string) => Sampling {
    const left = this.#left();
    const roomForPages = this.#roomForPages;
    return (count, asker) => {
      const { open, bytes } = left.allowance;
      const backend = exponentAt(Math.max(share(open - left.open + count - 1, open), share(bytes - left.bytes, bytes)));
      const fits = asker === undefined ? roomForPages > 0 : this.#take(asker, count, left);
      left.open -= count;
      return { backend, page: fits ? backend : NONE };
    };
  }

  /** @throws {Problem} 429 if so many impressions of a past log do not fit. */
  check(count: number): void {
    const left = this.#left();
    if (roomIn(left) >= count) return;
    const { open, bytes } = left.allowance;
    throw new Problem(429, `the model holds as much as it may: ${open} open impressions, or ${bytes} bytes`);
  }

  /** @param waits one for all requests of a group. @throws {Problem} 429 if so many deferred impressions do not fit. */
  checkDeferred(count: number, asking: Asking, waits = this.waiting()): void {
    if (waits(asking, count)) return;
    const { deferred } = this.#store.model.allowance;
    const ofPages = "those of pages up to half of it, and those of one address up to a tenth of the rest in a minute";
    throw new Problem(429, `the model holds as many deferred impressions as it may: ${deferred}, ${ofPages}`);
  }

  /** Tells of one shown impression after the other whether it fits, and remembers those that do not. */
  fitting(): (shown: { readonly id: string; readonly deferred: boolean; readonly decision: Asking }) => boolean {
    const left = this.#left();
    let roomForPages = this.#roomForPages;
    const waits = this.waiting();
    const fits = (deferred: boolean, { byPage, asker }: Asking): boolean => {
      if (byPage && roomForPages <= 0) return false;
      if (deferred ? !waits({ byPage, asker }) : !this.#take(asker, 1, left)) return false;
      if (!deferred) left.open--;
      if (byPage) roomForPages--;
      return true;
    };
    return ({ id, deferred, decision }) => {
      const isTaken = !this.isRefused(id) && fits(deferred, decision);
      if (!isTaken) this.#refused.add(id);
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
    const isNear = exponentAt(share(this.#store.bytes, this.#store.model.allowance.bytes)) > 0;
    const oldest = Date.now() - this.#config.deferral.ms;
    return (id) => !isNear && !this.isRefused(id) && shownAtOf(id) >= oldest && waits({ byPage: true, asker });
  }

  isRefused(id: string): boolean {
    return this.#refused.has(id);
  }

  /** Whether an asker may bring so many impressions. Each may be as long as the request of a page. */
  #take(asker: string | undefined, count: number, left: Left): boolean {
    const room = asker === undefined ? roomIn(left) : Math.min(roomIn(left), this.#roomForPages, left.bytes / MAX_DECISION_BYTES);
    const fits = this.#shares.fits("impressions", asker, count, room);
    if (fits) this.#shares.use("impressions", asker, count);
    return fits;
  }

  #left(): Left {
    const { allowance, watermark } = this.#store.model;
    const open = allowance.open - this.#store.tallies.countSince(watermark);
    return { allowance, open, bytes: allowance.bytes - this.#store.bytes };
  }

  get #roomForPages(): number {
    return this.#store.samples.roomForPages(this.#config.pageShare);
  }

  /** Pages take neither more than half of the places nor, with the longest requests, more than half of the bytes. */
  #mostWaiting(byPage: boolean): number {
    const { deferred, bytes } = this.#store.model.allowance;
    return byPage ? Math.floor(Math.min(deferred, bytes / MAX_DECISION_BYTES) / 2) : deferred;
  }
}

/** Impressions that fit. */
const roomIn = ({ open, bytes }: Left): number => (bytes <= 0 ? 0 : open);

/** A part of a limit. A shard without an allowance has used all of it. */
const share = (used: number, limit: number): number => (limit > 0 ? used / limit : 1);
