import { shardName } from "../../worker/domain/ids/shard.ts";
import type { Environment } from "../../worker/environment.ts";
import worker from "../../worker/index.ts";
import { Learner } from "../../worker/learner/learner.ts";
import { Edges } from "./edges.ts";
import { bindings } from "./scene.ts";
import { DurableObjects } from "./workerd/durable-object.ts";
import { type Faults, Isolate } from "./workerd/isolate.ts";
import { Kv } from "./workerd/kv.ts";
import type { Clock, World } from "./world.ts";

/** The worker and its services in this thread. */
export class NodeWorld implements World {
  readonly edges: Edges;
  readonly #model: string;
  readonly #faults: Faults;
  readonly #kv: Kv;
  readonly #learners: DurableObjects<Learner>;
  readonly #complaints: string[] = [];

  constructor(model: string, clock: Clock, faults: Faults) {
    this.#model = model;
    this.#faults = faults;
    this.#kv = new Kv(() => clock.time, faults);
    this.#learners = new DurableObjects((state, isolate, disk) => {
      // A message leaves after the writes before it are committed.
      return new Learner(
        state,
        this.#environmentFor(isolate, () => disk.commit()),
      );
    }, faults);
    this.edges = new Edges(model, faults, (isolate) => this.#environmentFor(isolate));
    console.error = (what: unknown, name?: unknown) => {
      // Lost calls arrive as plain errors, and dead code may still log errors.
      if (!["Error", "Outage", "Crash", "Unreachable"].includes(String(name))) this.#complaints.push(`${what} ${name}`);
    };
  }

  #environmentFor(isolate: Isolate, before?: () => void): Environment {
    const events = isolate.reach("kv", this.#kv, before) as unknown as KVNamespace;
    return { ...bindings, LEARNER: this.#learners.bindingFor(isolate, before), EVENTS: events };
  }

  killLearner(shard = 0): void {
    this.#learners.kill(shardName(this.#model, shard));
  }

  /** Restarts the learner from a snapshot instead of its own. */
  beginWith(snapshot: Uint8Array): void {
    this.killLearner();
    const disk = this.#learners.disk(this.#model);
    disk.exec("DELETE FROM snapshots", []);
    disk.exec("INSERT INTO snapshots SELECT seq, 0, 0, 1, ? FROM progress", [snapshot.slice().buffer]);
  }

  alarm(shard = 0): number | null {
    return this.#learners.disk(shardName(this.#model, shard)).alarm;
  }

  loseAlarm(shard = 0): void {
    this.#learners.disk(shardName(this.#model, shard)).alarm = null;
  }

  ring(shard = 0): Promise<boolean> {
    return this.#learners.ring(shardName(this.#model, shard));
  }

  async cron(): Promise<void> {
    const isolate = new Isolate("cron", this.#faults);
    await isolate.run(() => worker.scheduled({} as ScheduledController, this.#environmentFor(isolate))).catch(() => {});
  }

  /** A learner, as an isolate reaches it. */
  learner(shard = 0): DurableObjectStub<Learner> {
    const binding = this.#learners.bindingFor(new Isolate("caller", this.#faults)) as DurableObjectNamespace<never>;
    return binding.get(binding.idFromName(shardName(this.#model, shard))) as unknown as DurableObjectStub<Learner>;
  }

  settle(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  complaints(): readonly string[] {
    return [...this.#complaints, ...this.#learners.unexpected.map((error) => (error as Error).stack ?? String(error))];
  }

  close(): void {
    this.#learners.close();
    this.edges.close();
  }
}
