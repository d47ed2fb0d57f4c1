import { DurableObject } from "cloudflare:workers";
import type { Environment } from "../environment.ts";
import type { LearnerRpc } from "../rpc/learner.ts";
import { Administration } from "./calls/administration.ts";
import { answer } from "./calls/answer.ts";
import { Reading } from "./calls/reading.ts";
import { Serving } from "./calls/serving.ts";
import { Sharding } from "./calls/sharding.ts";
import { partsOf } from "./parts.ts";
import type { Upkeep } from "./upkeep/upkeep.ts";

type Arguments<Name extends keyof Omit<LearnerRpc, symbol>> = Parameters<LearnerRpc[Name]>;

/**
 * The Durable Object of one model: its state, and the only writer of that state.
 * A call does not await between its first read and its last change, so calls do not interleave.
 */
export class Learner extends DurableObject<Environment> implements LearnerRpc {
  readonly #serving: Serving;
  readonly #administration: Administration;
  readonly #reading: Reading;
  readonly #sharding: Sharding;
  readonly #upkeep: Upkeep;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    const parts = partsOf(ctx.storage, env);
    this.#serving = new Serving(parts);
    this.#administration = new Administration(parts, ctx.storage);
    this.#reading = new Reading(parts);
    this.#sharding = new Sharding(parts);
    this.#upkeep = parts.upkeep;
    void ctx.blockConcurrencyWhile(() => this.#upkeep.start());
  }

  override alarm(): Promise<void> {
    return this.#upkeep.run();
  }

  recommend(...given: Arguments<"recommend">) {
    return answer(() => this.#serving.recommend(...given));
  }

  registerShown(...given: Arguments<"registerShown">) {
    return answer(() => this.#serving.registerShown(...given));
  }

  register(...given: Arguments<"register">) {
    return answer(() => this.#serving.register(...given));
  }

  ingest(...given: Arguments<"ingest">) {
    return answer(() => this.#serving.ingest(...given));
  }

  report(...given: Arguments<"report">) {
    return answer(() => this.#serving.report(...given));
  }

  activate(...given: Arguments<"activate">) {
    return answer(() => this.#serving.activate(...given));
  }

  publication() {
    return answer(() => this.#serving.publication());
  }

  newer(...given: Arguments<"newer">) {
    return answer(() => this.#serving.newer(...given));
  }

  configure(...given: Arguments<"configure">) {
    return answer(() => this.#administration.configure(...given));
  }

  reconfigure(...given: Arguments<"reconfigure">) {
    return answer(() => this.#administration.reconfigure(...given));
  }

  reset(...given: Arguments<"reset">) {
    return answer(() => this.#administration.reset(...given));
  }

  relearn(...given: Arguments<"relearn">) {
    return answer(() => this.#administration.relearn(...given));
  }

  rollBack(...given: Arguments<"rollBack">) {
    return answer(() => this.#administration.rollBack(...given));
  }

  remove() {
    return answer(() => this.#administration.remove());
  }

  removeArchive(...given: Arguments<"removeArchive">) {
    return answer(() => this.#administration.removeArchive(...given));
  }

  setActions(...given: Arguments<"setActions">) {
    return answer(() => this.#administration.setActions(...given));
  }

  changeActions(...given: Arguments<"changeActions">) {
    return answer(() => this.#administration.changeActions(...given));
  }

  importLog(...given: Arguments<"importLog">) {
    return answer(() => this.#administration.importLog(...given));
  }

  erase(...given: Arguments<"erase">) {
    return answer(() => this.#administration.erase(...given));
  }

  eraseKey(...given: Arguments<"eraseKey">) {
    return answer(() => this.#administration.eraseKey(...given));
  }

  heal() {
    return answer(() => this.#administration.heal());
  }

  describe() {
    return answer(() => this.#reading.describe());
  }

  metrics() {
    return answer(() => this.#reading.metrics());
  }

  examination() {
    return answer(() => this.#reading.examination());
  }

  estimates(...given: Arguments<"estimates">) {
    return answer(() => this.#reading.estimates(...given));
  }

  impression(...given: Arguments<"impression">) {
    return answer(() => this.#reading.impression(...given));
  }

  startLog(...given: Arguments<"startLog">) {
    return answer(() => this.#reading.startLog(...given));
  }

  logPart(...given: Arguments<"logPart">) {
    return answer(() => this.#reading.logPart(...given));
  }

  log(...given: Arguments<"log">) {
    return answer(() => this.#reading.log(...given));
  }

  totals() {
    return answer(() => this.#reading.totals());
  }

  counts() {
    return answer(() => this.#reading.counts());
  }

  closedCounts(...given: Arguments<"closedCounts">) {
    return answer(() => this.#reading.closedCounts(...given));
  }

  snapshot() {
    return answer(() => this.#sharding.snapshot());
  }

  follow(...given: Arguments<"follow">) {
    return answer(() => this.#sharding.follow(...given));
  }

  keeps(...given: Arguments<"keeps">) {
    return answer(() => this.#sharding.keeps(...given));
  }

  gather(...given: Arguments<"gather">) {
    return answer(() => this.#sharding.gather(...given));
  }

  link(...given: Arguments<"link">) {
    return answer(() => this.#sharding.link(...given));
  }

  knows(...given: Arguments<"knows">) {
    return answer(() => this.#sharding.knows(...given));
  }
}
