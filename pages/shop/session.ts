// The state of the demo shop and its calls of the worker. The components around it only show it.

import { profiles, SHOP_WINDOW_MS } from "../../src/simulation/assortment.ts";
import { forget, type Knowledge, type ProductEvidence, readKnowledge, recommend, report } from "./api.ts";
import { Crowd, type Visit } from "./crowd.ts";
import type { Shown, ShownStatus } from "./shown.ts";

/** Impression status by the worker's answer to the purchase. Any other answer means refused. */
const outcomes: Readonly<Record<string, ShownStatus>> = {
  applied: "converted",
  accepted: "converted",
  duplicate: "converted",
  late: "late",
};

const PLACES = 3;
const TICK_MS = 250;
const REFRESH_MS = 1000;
const RETRY_MS = 2000;
const REMEMBERED = 300;
const LISTED = 6;

/** The state of the shop page: shown products, purchases, and the model's estimates. */
export class Session {
  readonly #key: string;
  readonly #changed: () => void;
  #crowd = this.#newCrowd();
  #lastRefresh = 0;
  #refreshing = false;
  #sending = false;
  #visit = 0;
  /** How often the page has started over. Answers to calls of an earlier generation are dropped. */
  #generation = 0;
  /** Visits that wait for the worker's answer. */
  #visiting = 0;
  /** Why the last call failed; empty if it did not. */
  #failure = "";

  profile = profiles[0].id;
  delayMs = 10_000;
  /** The products on the shelf, best first. */
  shelf: readonly Shown[] = [];
  /** Newest last. */
  shown: readonly Shown[] = [];
  counts?: Knowledge["counts"];
  estimates: readonly ProductEvidence[] = [];
  /** Means before the last action, by product id. */
  before: ReadonlyMap<string, number> = new Map();
  /** The reader's own visits since the last purchase or simulation. */
  looks = 0;
  /** This device's time minus the worker's. */
  aheadMs = 0;

  /** @param changed is called whenever the page must be drawn again. */
  constructor(key: string, changed: () => void) {
    this.#key = key;
    this.#changed = changed;
  }

  #newCrowd(): Crowd {
    return new Crowd(
      (profile) => this.#recommend(profile),
      (profile, list) => this.#follow(profile, list),
    );
  }

  start(): void {
    void this.choose(this.profile);
    setInterval(() => void this.#tick(), TICK_MS);
  }

  async choose(profile: string): Promise<void> {
    this.profile = profile;
    this.before = new Map();
    await this.visit();
  }

  chooseDelay(delayMs: number): void {
    this.delayMs = delayMs;
    this.#changed();
  }

  /** Starts a new visit with new recommendations. */
  async visit(): Promise<void> {
    const visit = ++this.#visit;
    this.looks++;
    this.#visiting++;
    const shelf = await this.#recommend(this.profile);
    this.#visiting--;
    // If two visits overlap, the later one wins.
    if (shelf && visit === this.#visit) this.shelf = shelf;
    await this.#refresh();
    this.#changed();
  }

  /** Buys a product now. The purchase is reported after the chosen delay. */
  buy(shown: Shown): void {
    if (shown.status !== "pending") return;
    this.#remember();
    shown.status = "bought";
    shown.own = true;
    this.looks = 0;
    shown.boughtAt = Date.now();
    shown.reportAt = shown.boughtAt + this.delayMs;
    this.#changed();
  }

  /** Returns a product whose purchase was reported. The shop reports that at once. */
  async giveBack(shown: Shown): Promise<void> {
    if (shown.status !== "converted" || !shown.own) return;
    const { settledAt } = shown;
    this.#remember();
    settle(shown, "returned");
    const answer = await this.#attempt(report("returns", [{ impressionId: shown.impressionId, agoMs: 0 }]));
    const status = answer?.conversions[0].status;
    if (status !== "applied") Object.assign(shown, { status: "converted", settledAt, returnedLate: status === "late" });
    await this.#refresh();
    this.#changed();
  }

  /** Why the page is not up to date, or why the return of a product on the shelf does not count. Empty if all is well. */
  get problem(): string {
    return this.#failure || (this.shelf.some(({ returnedLate }) => returnedLate) ? "The window has ended: the return does not count." : "");
  }

  /** Simulated visitors who are still to come. */
  get visitorsLeft(): number {
    return this.#crowd.left;
  }

  get visits(): readonly Visit[] {
    return this.#crowd.visits;
  }

  /** Sends simulated visitors. */
  async simulate(visitors: number): Promise<void> {
    if (this.visitorsLeft > 0) return;
    this.#remember();
    this.looks = 0;
    const sent = this.#crowd.send(visitors);
    this.#changed();
    await sent;
    this.#changed();
  }

  /** The shelf follows the visitors of its kind, so that the reader sees the recommendations change. */
  #follow(profile: string, list: readonly Shown[]): void {
    if (list.length > 0 && profile === this.profile && !this.#isKept) this.shelf = list;
    this.#changed();
  }

  /** A shelf from which the reader has bought stays until the purchase is reported. */
  get #isKept(): boolean {
    return this.shelf.some(({ own, status }) => own && status === "bought");
  }

  /** Deletes what the model has learnt and what this page has shown. */
  async startOver(): Promise<void> {
    if ((await this.#attempt(forget())) === undefined) return;
    this.#generation++;
    this.looks = 0;
    this.shown = [];
    this.estimates = [];
    this.counts = undefined;
    this.#crowd = this.#newCrowd();
    await this.choose(this.profile);
  }

  async #recommend(profile: string): Promise<Shown[] | undefined> {
    const generation = this.#generation;
    const answer = await this.#attempt(recommend(this.#key, profile, PLACES));
    if (!answer || generation !== this.#generation) return undefined;
    const { actions } = answer;
    const shownAt = Date.now();
    this.aheadMs = shownAt - (answer.windowEndsAt - SHOP_WINDOW_MS);
    // By this device's clock, which may differ from the worker's.
    const windowEndsAt = shownAt + SHOP_WINDOW_MS;
    const shown = actions.map(
      ({ impressionId, id }): Shown => ({ impressionId, product: id, profile, shownAt, windowEndsAt, status: "pending" }),
    );
    const all = [...this.shown, ...shown];
    // Bought products stay until they are reported.
    this.shown = all.filter(({ status }, i) => status === "bought" || i >= all.length - REMEMBERED);
    return shown;
  }

  async #tick(): Promise<void> {
    const now = Date.now();
    for (const shown of this.shown) if (shown.status === "pending" && now > shown.windowEndsAt) settle(shown, "expired");
    this.#changed();
    // The first visit may have failed.
    const empty = this.shelf.length === 0 && this.#visiting === 0;
    if (!document.hidden && now - this.#lastRefresh >= REFRESH_MS) void (empty ? this.visit() : this.#refresh());
    if (!this.#sending) await this.#report(now);
  }

  /** Reports the due purchases in one webhook. A failed webhook is sent again later. */
  async #report(now: number): Promise<void> {
    const due = this.shown.filter(({ status, reportAt = Number.POSITIVE_INFINITY }) => status === "bought" && reportAt <= now);
    if (due.length === 0) return;
    this.#sending = true;
    const happened = due.map(({ impressionId, boughtAt = now }) => ({ impressionId, agoMs: Math.max(Math.round(now - boughtAt), 0) }));
    const answer = await this.#attempt(report("purchases", happened));
    this.#sending = false;
    due.forEach((shown, i) => {
      if (answer) settle(shown, outcomes[answer.conversions[i].status] ?? "refused");
      else shown.reportAt = Date.now() + RETRY_MS;
    });
    if (!answer) return;
    await this.#refresh();
    const waiting = this.shown.some(({ status }) => status === "bought");
    if (await this.#crowd.followUp(waiting)) await this.visit();
  }

  async #refresh(): Promise<void> {
    if (this.#refreshing) return;
    this.#refreshing = true;
    this.#lastRefresh = Date.now();
    const { profile } = this;
    const generation = this.#generation;
    const stale = () => profile !== this.profile || generation !== this.#generation;
    const visible = new Map([...this.shelf, ...this.recent()].map((shown) => [shown.impressionId, shown]));
    const knowledge = await this.#attempt(readKnowledge(profile, [...visible.keys()]));
    this.#refreshing = false;
    // The visitor may have changed meanwhile, or the page started over. Then the next tick asks again.
    if (stale()) this.#lastRefresh = 0;
    if (!knowledge || stale()) return;
    this.counts = knowledge.counts;
    this.estimates = knowledge.estimates;
    if (this.before.size === 0) this.#remember();
    for (const { impressionId, status } of knowledge.impressions) {
      const shown = visible.get(impressionId);
      // A purchase that is not reported yet is unknown to the worker.
      const isFinal = status !== "pending" && shown?.status !== "bought";
      if (shown && isFinal && shown.settledAt === undefined) settle(shown, status);
    }
    this.#changed();
  }

  #remember(): void {
    this.before = new Map(this.estimates.map(({ id, belief }) => [id, belief.mean]));
  }

  /** The impressions whose status changed last, newest first. */
  recent(): Shown[] {
    const at = ({ shownAt, settledAt = shownAt }: Shown): number => settledAt;
    return this.shown.toSorted((a, b) => at(b) - at(a)).slice(0, LISTED);
  }

  async #attempt<Result>(call: Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await call;
      this.#failure = "";
      return result;
    } catch (error) {
      this.#failure = error instanceof TypeError ? "The worker does not answer. Retrying." : (error as Error).message;
      return undefined;
    }
  }
}

function settle(shown: Shown, status: ShownStatus): void {
  shown.status = status;
  shown.settledAt = Date.now();
}
