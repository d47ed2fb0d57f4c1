// Says what is due and when, and sets the one alarm. The tasks know nothing of each other.

import type { Model, ModelHolder } from "../model/model-holder.ts";
import type { LearnerStore } from "../store/learner-store.ts";

/** Time before a failed task runs again. */
const RETRY_MS = 30_000;

/** A task of a model that time makes due. */
export interface Task {
  /** When the task is due, in ms since 1970. Undefined if there is nothing to do. */
  due(model: Model): number | undefined;
  /** When a new impression that is shown or deferred at a time makes the task due. Absent if impressions do not. */
  dueWith?(model: Model, shownAt: number, isDeferred: boolean): number | undefined;
  run(): Promise<void>;
}

/** Runs the tasks of a model when they are due, in their order. One alarm serves them all. */
export class Upkeep {
  readonly #storage: DurableObjectStorage;
  readonly #store: LearnerStore;
  readonly #current: ModelHolder;
  readonly #tasks: readonly Task[];
  #alarmAt?: number;

  constructor(storage: DurableObjectStorage, store: LearnerStore, current: ModelHolder, tasks: readonly Task[]) {
    this.#storage = storage;
    this.#store = store;
    this.#current = current;
    this.#tasks = tasks;
  }

  /** Runs the tasks that are due. It never throws, because an alarm that fails six times does not ring again. */
  async run(): Promise<void> {
    this.#alarmAt = undefined;
    let notBefore = 0;
    for (const task of this.#tasks) {
      try {
        if (this.#store.exists && (task.due(this.#current.get()) ?? Number.POSITIVE_INFINITY) <= Date.now()) await task.run();
      } catch (error) {
        report(error);
        notBefore = Date.now() + RETRY_MS;
      }
    }
    try {
      if (this.#store.exists) await this.arm(undefined, { notBefore });
    } catch (error) {
      report(error);
      // The next task could not be determined, so the alarm only tries again.
      await this.#storage.setAlarm(Date.now() + RETRY_MS);
    }
  }

  /** Does a part of a task at once, then sets the alarm. After a failure the alarm runs the same part again. */
  async now(work: () => Promise<void>): Promise<void> {
    await work().catch(report);
    await this.arm();
  }

  /** Does a part of a task at once. If it fails, the alarm rings and tries again. */
  async attempt(work: () => Promise<unknown>): Promise<void> {
    await work().catch(() => this.hurry());
  }

  /**
   * Sets the alarm for the next task.
   * @param shownAt time of a new impression. The alarm is set only if that impression could make a task due earlier.
   * @param deferred whether the impression is not shown yet.
   * @throws {Problem} 404 if the model was deleted meanwhile.
   */
  async arm(shownAt?: number, { deferred = false, notBefore = 0 } = {}): Promise<void> {
    const model = this.#current.get();
    const overdue = this.#alarmAt !== undefined && this.#alarmAt < Date.now() - RETRY_MS;
    if (shownAt !== undefined && this.#alarmAt !== undefined && !overdue) {
      const soonest = least(this.#tasks, (task) => task.dueWith?.(model, shownAt, deferred));
      if (this.#alarmAt <= soonest) return;
    }
    const due = least(this.#tasks, (task) => task.due(model));
    if (due === Number.POSITIVE_INFINITY) return;
    this.#alarmAt = Math.max(notBefore, due);
    await this.#storage.setAlarm(this.#alarmAt);
  }

  /** Sets the alarm when a learner starts, in case it was lost. After a failure the next call sets it. */
  async start(): Promise<void> {
    try {
      if (this.#store.exists) await this.arm();
    } catch (error) {
      report(error);
    }
  }

  /** Sets the alarm to ring at once. */
  async hurry(): Promise<void> {
    this.#alarmAt = Date.now();
    await this.#storage.setAlarm(this.#alarmAt);
  }

  /** Forgets the time of the alarm, so that the next `arm` sets it. */
  disarm(): void {
    this.#alarmAt = undefined;
  }
}

/** The earliest of some times of tasks. Infinity if there is none. A plain loop: each new impression comes here. */
function least(tasks: readonly Task[], timeOf: (task: Task) => number | undefined): number {
  let earliest = Number.POSITIVE_INFINITY;
  for (const task of tasks) earliest = Math.min(earliest, timeOf(task) ?? Number.POSITIVE_INFINITY);
  return earliest;
}

// Logs the name only, because a message may hold data of a caller.
function report(error: unknown): void {
  console.error("an alarm's task failed", error instanceof Error ? error.name : typeof error);
}
