/** A conversion on its way to the worker, possibly more than once. */
export interface Event {
  readonly impressionId: string;
  /** Last moment that counts, ms. */
  readonly windowEndsAt: number;
  /** When it happened, ms; set when it is first sent. */
  happenedAt: number;
  /** What the worker made of it when it first came. */
  outcome?: "joined" | "late";
}

/** What the worker counts of a model's conversions. */
export interface Counters {
  readonly applied: number;
  readonly duplicate: number;
  readonly late: number;
}

export type Class = "joined" | "duplicate" | "late" | "lost";

/** Puts every delivered conversion into exactly one class, and holds the worker to what it answered. */
export class Tally {
  readonly counts: Record<Class, number> = { joined: 0, duplicate: 0, late: 0, lost: 0 };
  /** Why conversions count as lost, and how many for each reason. */
  readonly losses = new Map<string, number>();
  /** Deliveries that only the worker's journal has so far. */
  accepted: Event[] = [];
  /** Deliveries that the worker may have counted twice, or not yet. */
  #uncertain = 0;

  get delivered(): number {
    return this.counts.joined + this.counts.duplicate + this.counts.late + this.counts.lost;
  }

  /** Takes the worker's answer for one delivery; `resent` if an earlier attempt may have been taken without an answer. */
  take(event: Event, status: string, resent: boolean): void {
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
    // After a lost answer, the attempt that was taken is the one that was not answered.
    if (status === "duplicate" && (event.outcome || resent)) return event.outcome ? "duplicate" : first;
    if (status === "applied" && first === "joined" && !event.outcome) return "joined";
    if (status === "late" && first === "late") return "late";
    return `answered ${status}, but it came ${first === "late" ? "too late" : "in time"} and was ${event.outcome ?? "not known"} before`;
  }

  #count(event: Event, result: Class | string): void {
    if (result === "joined" || result === "late") event.outcome ??= result;
    if (result in this.counts) this.counts[result as Class]++;
    else this.lose(result);
  }

  /** Settles a delivery that was only accepted, now that its impression's state is known. */
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

  /** Compares with what the worker counted meanwhile; a conversion that it counted otherwise is moved to the lost ones. */
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
      // Never fewer than one, even where nothing is left to move.
      this.lose(
        `the worker counted ${counted} ${theirs}, its answers said ${this.counts[own] + moved}`,
        Math.max(moved, Math.min(difference, 1)),
      );
    }
  }
}
