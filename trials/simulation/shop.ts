// A simulated shop: customers, sales, and requests that are repeated until they are answered.

import { TokenSigner } from "../../worker/domain/ids/token.ts";
import { shownAtOf, uuidAt } from "../../worker/domain/ids/uuid.ts";
import type { Caller } from "./caller.ts";
import { ACTIONS, bindings } from "./scene.ts";
import type { Clock, Dice, World } from "./world.ts";

/** The shop's record of an impression. */
export interface Shown {
  readonly id: string;
  readonly token: string;
  /** Index of the isolate, and the number of isolates that had died there. Undefined if the worker did not decide. */
  readonly edge?: { readonly place: number; readonly deaths: number };
  /** Whether the worker has confirmed the registration. */
  registered: boolean;
  /** Whether the worker regards it as not shown yet. */
  deferred: boolean;
}

/** A sent conversion with all answers to it. */
export interface Sale {
  /** Null if a key identifies the impression. */
  readonly impression: string | null;
  readonly key?: string;
  readonly goal: string;
  readonly event: string;
  /** Null if retracted. */
  readonly reward: number | null;
  readonly at: number;
  /** The latest time that any machine read when each answer first arrived. */
  readonly answers: Map<string, number>;
}

/** A request that is repeated until it is answered. */
interface Letter {
  readonly due: number;
  readonly name: string;
  /** Whether an answer makes repetition unnecessary. */
  send(): Promise<boolean>;
}

/** A shop with customers. It asks for recommendations, registers its own impressions, and reports sales until they are acknowledged. */
export class Shop {
  readonly shown: Shown[] = [];
  readonly sales: Sale[] = [];
  readonly windowMs: number;
  /** Impressions that unanswered requests may have created. */
  unknown = 0;
  letters: Letter[] = [];
  #names = 0;
  readonly #caller: Caller;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #clock: Clock;

  constructor(caller: Caller, world: World, dice: Dice, clock: Clock, windowMs: number) {
    this.#caller = caller;
    this.#world = world;
    this.#dice = dice;
    this.#clock = clock;
    this.windowMs = windowMs;
  }

  async recommend(edge = this.#caller.anyEdge()): Promise<void> {
    const limit = 1 + this.#dice.below(2);
    const defer = this.#dice.chance(0.15);
    const keys = this.#dice.chance(0.3) ? [this.#visitor()] : [];
    const deaths = this.#world.edges.deaths(edge);
    const body = { context: [this.#dice.below(9) / 8 - 0.5, 0.5], limit, defer, keys };
    const reply = await this.#caller.ofModel("POST", "/recommendations", body, { edge });
    if (reply?.status !== 201) {
      this.unknown += limit;
      return;
    }
    for (const { impressionId } of reply.body.actions) {
      const shown = await this.#remember({ token: impressionId, edge: { place: edge, deaths }, registered: false, deferred: defer });
      if (defer && this.#dice.chance(0.7)) this.#activate(shown);
    }
  }

  #visitor(): string {
    return `visitor ${this.#dice.below(3)}`;
  }

  async #remember({ token, ...known }: Omit<Shown, "id">): Promise<Shown> {
    const content = await (await TokenSigner.create(bindings.AFTERCLICK_TOKEN_KEY)).verify(token, Number.MAX_SAFE_INTEGER);
    if (!content) throw new Error(`${token} is not an impression id`);
    const shown = { id: content.id, token, ...known };
    this.shown.push(shown);
    return shown;
  }

  #activate(shown: Shown): void {
    this.#post("activation", this.#dice.below(this.windowMs), async () => {
      const reply = await this.#caller.call("POST", `/v1/impressions/${shown.token}/activate`);
      if (reply?.status === 200) shown.deferred = false;
      // An accepted activation waits for a registration, which is lost if the isolate at the edge dies.
      if (["activated", "duplicate"].includes(reply?.body.status)) shown.registered = true;
      // The impression is not registered, or its bucket is closed.
      return reply?.status === 200 || reply?.status === 404;
    });
  }

  /** Shows an action by other means. The worker learns this later, or never, as if an isolate had died. */
  async showElsewhere(): Promise<void> {
    const shown = await this.show(this.#dice.pick(ACTIONS).id, this.#clock.now() - this.#dice.below(30_000));
    if (!this.#dice.chance(0.2)) this.register(shown, this.#dice.below(this.windowMs));
  }

  /** Creates an impression that so far only the shop knows. */
  async show(action: string, shownAt: number): Promise<Shown & { readonly action: string }> {
    const id = uuidAt(
      shownAt,
      Uint8Array.from({ length: 10 }, () => this.#dice.below(256)),
    );
    const signer = await TokenSigner.create(bindings.AFTERCLICK_TOKEN_KEY);
    const token = signer.sign({
      id,
      model: this.#caller.model,
      action,
      generation: this.#caller.generation,
      modelVersion: 0,
      sampling: 0,
      windowEndsAt: shownAt + this.windowMs,
    });
    return Object.assign(await this.#remember({ token, registered: false, deferred: false }), { action });
  }

  register(shown: Shown & { readonly action: string }, delay = 0): void {
    const item = { id: shown.token, action: shown.action, context: [0.25, 0.5], shownAt: shownAtOf(shown.id) };
    this.#post("registration", delay, async () => {
      const reply = await this.#caller.ofModel("POST", "/impressions", [item]);
      if (reply?.status === 201) shown.registered = true;
      // The window has ended.
      return reply?.status === 201 || reply?.status === 422;
    });
  }

  #post(name: string, delay: number, send: () => Promise<boolean>): void {
    this.letters.push({ due: this.#clock.time + delay, name, send });
  }

  /** Customers buy or return something, at any time up to just after the window. */
  buy(): void {
    if (this.shown.length === 0) return;
    const size = this.#dice.chance(0.25) ? 2 + this.#dice.below(2) : 1;
    const type = this.#dice.pick(["conversion", "conversion", "conversion.updated", "conversion.retracted"]);
    const id = `msg_${++this.#names}`;
    const sales = Array.from({ length: size }, (_, place) => this.#sale(size > 1 ? `${id} ${place}` : id, type));
    this.report(id, type, sales, this.#delayOf(sales));
    // Another sender uses the same id with other content.
    if (!this.#dice.chance(0.1)) return;
    const others = sales.map((sale) => ({ ...sale, reward: this.#reward(), answers: new Map<string, number>() }));
    this.report(id, "conversion", others, this.#delayOf(others));
  }

  #sale(event: string, type: string): Sale {
    const { id } = this.#dice.pick(this.shown.slice(-12));
    const within = Array.from({ length: 7 }, () => this.#dice.below(this.windowMs));
    const at = shownAtOf(id) + this.#dice.pick([0, this.windowMs, this.windowMs + 1, ...within]);
    const goal = this.#dice.chance(0.8) ? "conversion" : "review";
    const reward = type === "conversion.retracted" ? null : this.#reward();
    const whose = this.#dice.chance(0.15) ? { impression: null, key: this.#visitor() } : { impression: id };
    return { ...whose, goal, event, reward, at, answers: new Map() };
  }

  #reward(): number {
    return this.#dice.pick([0, 0.25, 0.5, 1]);
  }

  /** Nobody reports an event before it happens. */
  #delayOf(sales: readonly Sale[]): number {
    const ready = Math.max(...sales.map(({ at }) => at)) - this.#clock.time;
    return Math.max(0, ready) + this.#dice.below(this.#dice.pick([1000, 60_000, 400_000, this.windowMs / 4]));
  }

  report(id: string, type: string, sales: readonly Sale[], delay = 0): void {
    this.sales.push(...sales);
    const data = sales.map(({ impression, key, goal, reward, at }) => {
      const whose = impression === null ? { model: this.#caller.model, key } : { impressionId: this.#tokenOf(impression) };
      return { ...whose, goal, ...(reward !== null && { reward }), timestamp: at };
    });
    const body = { type, timestamp: sales[0].at, data: data.length > 1 ? data : data[0] };
    this.#post(id, delay, async () => {
      const reply = await this.#caller.webhook(id, body);
      if (reply?.status === 202) this.#acknowledge(sales, reply.body.conversions);
      else if (reply?.status === 422) for (const { answers } of sales) answers.set("refused", this.#clock.latest);
      return reply?.status === 202 || reply?.status === 422;
    });
  }

  #acknowledge(sales: readonly Sale[], results: readonly { status: string }[]): void {
    if (results.length !== sales.length) throw new Error(`expected ${sales.length} results, got ${results.length}`);
    results.forEach(({ status }, place) => {
      const { answers, event, impression, key } = sales[place];
      if (!answers.has(status)) answers.set(status, this.#clock.latest);
      this.#caller.note(`${event} of ${impression ?? key}: ${status}`);
    });
  }

  #tokenOf(impression: string): string {
    return (this.shown.find(({ id }) => id === impression) as Shown).token;
  }

  /** Sends a due request, in any order. Unanswered requests are repeated, and some answered ones too. */
  async send(): Promise<void> {
    const due = this.letters.filter(({ due }) => due <= this.#clock.time);
    if (due.length === 0) return;
    const letter = this.#dice.pick(due);
    this.letters.splice(this.letters.indexOf(letter), 1);
    if ((await letter.send()) && !this.#dice.chance(0.2)) return;
    this.letters.push({ ...letter, due: this.#clock.time + this.#dice.below(30_000) });
  }

  /** Sends all requests in order, and repeats each until it is answered. */
  async sendAll(): Promise<void> {
    for (const letter of this.letters.splice(0)) {
      for (let tries = 1; !(await letter.send()); tries++) if (tries > 5) throw new Error(`${letter.name} is not answered`);
    }
  }

  /** Sends a conversion with a foreign id. */
  async forge(): Promise<void> {
    if (this.shown.length === 0) return;
    const { token } = this.#dice.pick(this.shown);
    const place = this.#dice.below(token.length);
    const impressionId = `${token.slice(0, place)}${token[place] === "A" ? "B" : "A"}${token.slice(place + 1)}`;
    const body = { type: "conversion", timestamp: this.#clock.time, data: { impressionId, reward: 1 } };
    const reply = await this.#caller.webhook(`msg_${++this.#names}`, body);
    if (reply && reply.status < 300) throw new Error(`a forged id was answered with ${reply.status}`);
  }

  /** Makes every isolate at the edge register its pending impressions. */
  async flush(): Promise<void> {
    for (const edge of this.#world.edges.places) await this.recommend(edge);
  }
}
