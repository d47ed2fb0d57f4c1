/** A conversion that is delivered to the worker once or more. */
export interface Event {
  readonly impressionId: string;
  /** Last moment at which the conversion counts, ms. */
  readonly windowEndsAt: number;
  /** Time of the conversion, ms. Set at the first delivery. */
  happenedAt: number;
  /** The worker's verdict on the first delivery. */
  outcome?: "joined" | "late";
}

/** The worker's counters of a model's conversions. */
export interface Counters {
  readonly applied: number;
  readonly duplicate: number;
  readonly late: number;
}

export type Class = "joined" | "duplicate" | "late" | "lost";

/** Puts every delivery into exactly one class, and checks the worker's counters against its answers. */
export class Tally {
  readonly counts: Record<Class, number> = { joined: 0, duplicate: 0, late: 0, lost: 0 };
  /** Numbers of lost conversions, by reason. */
  readonly losses = new Map<string, number>();
  /** Deliveries that so far are only in the KV journal. */
  accepted: Event[] = [];
  /** Number of deliveries that the worker may have counted twice or not yet. */
  #uncertain = 0;

  get delivered(): number {
    return this.counts.joined + this.counts.duplicate + this.counts.late + this.counts.lost;
  }

  /** Classifies one delivery by the worker's answer. @param resent whether the worker may have taken an earlier attempt whose answer was lost. */
  classify(event: Event, status: string, resent: boolean): void {
    if (resent) this.#uncertain++;
    if (status === "accepted") {
      this.#uncertain++;
      this.accepted.push(event);
    } else {
      this.#count(event, this.#classOf(event, status, resent));
    }
  }

  #classOf(event: Event, status: string, resent: boolean): Class | string {
    const first = event.happenedAt <= event.windowEndsAt ? "joined" : "late";
    // After a lost answer, "duplicate" refers to the earlier attempt of the same delivery.
    if (status === "duplicate" && (event.outcome || resent)) return event.outcome ? "duplicate" : first;
    if (status === "applied" && first === "joined" && !event.outcome) return "joined";
    if (status === "late" && first === "late") return "late";
    return `answered ${status} to a conversion that came ${first === "late" ? "too late" : "in time"} and was ${event.outcome ?? "not known"} before`;
  }

  #count(event: Event, result: Class | string): void {
    if (result === "joined" || result === "late") event.outcome ??= result;
    if (result in this.counts) this.counts[result as Class]++;
    else this.lose(result);
  }

  /** Classifies a delivery that was only accepted, when its impression's state is known. */
  settle(event: Event, converted: boolean): void {
    if (event.outcome) this.#count(event, "duplicate");
    else if (event.happenedAt > event.windowEndsAt) this.#count(event, "late");
    else this.#count(event, converted ? "joined" : "accepted, but never applied");
  }

  lose(reason: string, count = 1): void {
    if (count <= 0) return;
    this.counts.lost += count;
    this.losses.set(reason, (this.losses.get(reason) ?? 0) + count);
  }

  /** Compares the classes with the worker's counters. Conversions that the worker counted differently become lost. */
  crossCheck(before: Counters, after: Counters): void {
    for (const [own, theirs] of [
      ["joined", "applied"],
      ["duplicate", "duplicate"],
      ["late", "late"],
    ] as const) {
      const counted = after[theirs] - before[theirs];
      const slack = theirs === "applied" ? 0 : this.#uncertain;
      const difference = Math.max(0, Math.abs(counted - this.counts[own]) - slack);
      const moved = Math.min(difference, this.counts[own]);
      this.counts[own] -= moved;
      // A difference loses at least one, even if the class is empty.
      const reason = `expected the worker to count ${this.counts[own] + moved} ${theirs} by its answers, got ${counted}`;
      this.lose(reason, Math.max(moved, Math.min(difference, 1)));
    }
  }
}
