import { type Estimate, forget, type Knowledge, purchase, readKnowledge, recommend } from "./api.ts";
import { profiles, SHOP_WINDOW_MS } from "./assortment.ts";
import { drawDelay, drawVisitor, type Visit, visitAfter } from "./crowd.ts";

export type ShownStatus = "pending" | "bought" | "converted" | "expired" | "late" | "refused";

/** A shown product: one impression. */
export interface Shown {
  readonly impressionId: string;
  readonly product: string;
  readonly profile: string;
  readonly shownAt: number;
  readonly windowEndsAt: number;
  status: ShownStatus;
  /** Time at which the purchase is reported. Set once the product is bought. */
  reportAt?: number;
  /** Time at which the status became final. */
  settledAt?: number;
}

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
/** Simulated visitors come over several seconds, so that a reader can watch, and the first purchases are reported meanwhile. */
const VISITORS_AT_ONCE = 5;
const PAUSE_MS = 600;
/** Time between two shelves while simulated purchases are being reported. */
const RENEW_MS = 5000;
const REMEMBERED = 300;
const LISTED = 6;

/** The state of the shop page: shown products, purchases, and the model's estimates. */
export class Session {
  readonly #key: string;
  readonly #changed: () => void;
  #lastRefresh = 0;
  #refreshing = false;
  #sending = false;
  #visit = 0;
  /** Visits that wait for the worker's answer. */
  #visiting = 0;
  #renewedAt = 0;
  /** Whether purchases of simulated visitors are still to be reported. */
  #awaitsCrowd = false;

  profile = profiles[0].id;
  delayMs = 10_000;
  /** The products on the shelf, best first. */
  shelf: readonly Shown[] = [];
  /** Newest last. */
  shown: readonly Shown[] = [];
  counts?: Knowledge["counts"];
  estimates: readonly Estimate[] = [];
  /** Means before the last action, by product id. */
  before: ReadonlyMap<string, number> = new Map();
  visitorsLeft = 0;
  visits: readonly Visit[] = [];
  /** This device's time minus the worker's. */
  aheadMs = 0;
  problem = "";

  /** @param changed is called whenever the page must be drawn again. */
  constructor(key: string, changed: () => void) {
    this.#key = key;
    this.#changed = changed;
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
    this.#visiting++;
    this.#renewedAt = Date.now();
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
    shown.reportAt = Date.now() + this.delayMs;
    this.#changed();
  }

  /** Simulates visitors of random kinds, who buy by their tastes. */
  async simulate(visitors: number): Promise<void> {
    if (this.visitorsLeft > 0) return;
    this.#remember();
    this.visitorsLeft = visitors;
    this.#changed();
    await Promise.all(Array.from({ length: VISITORS_AT_ONCE }, () => this.#receive()));
    this.#awaitsCrowd = true;
    await this.visit();
  }

  /** Deletes what the model has learnt and what this page has shown. */
  async startOver(): Promise<void> {
    if ((await this.#attempt(forget())) === undefined) return;
    [this.shown, this.visits] = [[], []];
    await this.choose(this.profile);
  }

  async #receive(): Promise<void> {
    while (this.visitorsLeft > 0) {
      this.visitorsLeft--;
      const { id, tastes } = drawVisitor();
      const list = (await this.#recommend(id)) ?? [];
      if (list.length > 0) this.visits = [...this.visits, visitAfter(this.visits.at(-1), tastes, list[0].product)];
      for (const shown of list) {
        if (Math.random() >= tastes[shown.product]) continue;
        shown.status = "bought";
        shown.reportAt = Date.now() + drawDelay();
      }
      this.#changed();
      if (this.visitorsLeft > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #recommend(profile: string): Promise<Shown[] | undefined> {
    const answer = await this.#attempt(recommend(this.#key, profile, PLACES));
    if (!answer) return undefined;
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
    const answer = await this.#attempt(purchase(due.map(({ impressionId }) => impressionId)));
    this.#sending = false;
    due.forEach((shown, i) => {
      if (answer) settle(shown, outcomes[answer.conversions[i].status] ?? "refused");
      else shown.reportAt = Date.now() + RETRY_MS;
    });
    if (!answer) return;
    await this.#refresh();
    if (this.#awaitsCrowd) await this.#renew(this.shown.every(({ status }) => status !== "bought"));
  }

  /** Renews the shelf after a simulation: every few seconds while purchases are reported, and after the last. */
  async #renew(last: boolean): Promise<void> {
    this.#awaitsCrowd = !last;
    const due = last || Date.now() - this.#renewedAt >= RENEW_MS;
    // A shelf from which somebody has bought stays.
    if (due && this.shelf.every(({ status }) => status === "pending")) await this.visit();
  }

  async #refresh(): Promise<void> {
    if (this.#refreshing) return;
    this.#refreshing = true;
    this.#lastRefresh = Date.now();
    const { profile } = this;
    const visible = new Map([...this.shelf, ...this.recent()].map((shown) => [shown.impressionId, shown]));
    const knowledge = await this.#attempt(readKnowledge(profile, [...visible.keys()]));
    this.#refreshing = false;
    // The visitor may have changed meanwhile. Then the next tick asks again.
    if (profile !== this.profile) this.#lastRefresh = 0;
    if (!knowledge || profile !== this.profile) return;
    this.counts = knowledge.counts;
    this.estimates = knowledge.estimates;
    if (this.before.size === 0) this.#remember();
    for (const { impressionId, status } of knowledge.impressions) {
      const shown = visible.get(impressionId);
      if (shown && status !== "pending" && shown.settledAt === undefined) settle(shown, status);
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
      this.problem = "";
      return result;
    } catch (error) {
      this.problem = error instanceof TypeError ? "The worker does not answer. Retrying." : (error as Error).message;
      return undefined;
    }
  }
}

function settle(shown: Shown, status: ShownStatus): void {
  shown.status = status;
  shown.settledAt = Date.now();
}
