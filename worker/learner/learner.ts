// The Durable Object: hands each call to the class of its audience, and knows no call itself.

import { DurableObject } from "cloudflare:workers";
import type { Environment } from "../environment.ts";
import type { LearnerRpc } from "../rpc/learner.ts";
import { Administration } from "./calls/administration.ts";
import { answer } from "./calls/answer.ts";
import { callNames } from "./calls/call-names.ts";
import { Orders } from "./calls/orders.ts";
import { Reading } from "./calls/reading.ts";
import { Serving } from "./calls/serving.ts";
import { Sharding } from "./calls/sharding.ts";
import { partsOf } from "./parts.ts";
import { WAS_BEHIND } from "./upkeep/closing.ts";
import type { Upkeep } from "./upkeep/upkeep.ts";

/** The calls by audience. Each method of these classes is a call of the learner. */
const AUDIENCES = [Serving, Administration, Reading, Sharding, Orders];

type Calls = Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;

export interface Learner extends LearnerRpc {}

/**
 * The Durable Object of one model: its state, and the only writer of that state.
 * A call does not await between its first read and its last change, so calls do not interleave.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the static block gives the class the methods of the interface.
export class Learner extends DurableObject<Environment> {
  /** In the order of `AUDIENCES`. */
  readonly #audiences: readonly object[] = [];
  readonly #upkeep?: Upkeep;
  /** Why each call fails. Absent if the state can be opened. */
  readonly #refusal?: Error;

  static {
    for (const [place, { prototype }] of AUDIENCES.entries()) {
      for (const name of callNames(prototype, Learner.prototype)) {
        // Callers reach the methods of a prototype, and no others.
        const value = function (this: Learner, ...given: unknown[]) {
          return answer(async () => {
            if (this.#refusal) throw this.#refusal;
            return (this.#audiences[place] as Calls)[name](...given);
          });
        };
        Object.defineProperty(Learner.prototype, name, { value, configurable: true, writable: true });
      }
    }
  }

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    try {
      const parts = partsOf(ctx.storage, env);
      this.#audiences = AUDIENCES.map((Audience) => new Audience(parts, ctx.storage));
      this.#upkeep = parts.upkeep;
      void ctx.blockConcurrencyWhile(() => parts.upkeep.start());
    } catch (error) {
      // Any other failure than a refusal may pass: the next call starts again.
      if (!(error instanceof Error && "status" in error)) throw error;
      this.#refusal = error;
      ctx.storage.kv.put(WAS_BEHIND, true);
    }
  }

  /** Without its state there is nothing to do. The next start sets the alarm again. */
  override async alarm(): Promise<void> {
    await this.#upkeep?.run();
  }
}
