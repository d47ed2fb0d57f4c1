import type { Verdict } from "./judge.ts";

/** Rewards that the worker has acknowledged, and what became of them. */
export interface Account {
  readonly acknowledged: number;
  readonly lost: number;
  readonly doubled: number;
}

const LONGEST_LINE = 600;

/** Counts the attempts of an attack, and keeps a line for each breach. */
export class Scoreboard {
  readonly breaches: string[] = [];
  /** Findings that are no breaches. */
  readonly notes: string[] = [];
  #tried = 0;
  #account: Account = { acknowledged: 0, lost: 0, doubled: 0 };

  /** @param sent what was tried. */
  check(group: string, sent: string, verdict: Verdict): void {
    this.#tried++;
    if (verdict !== null) this.breaches.push(`${group}: ${sent}: ${verdict}`.slice(0, LONGEST_LINE));
  }

  /** Notes an account. A lost or doubled reward is a breach. */
  account(group: string, what: string, { acknowledged, lost, doubled }: Account): void {
    const sum = this.#account;
    this.#account = { acknowledged: sum.acknowledged + acknowledged, lost: sum.lost + lost, doubled: sum.doubled + doubled };
    const bad = lost + doubled > 0;
    this.check(
      group,
      what,
      bad ? `expected ${acknowledged} acknowledged rewards once each, got ${lost} lost and ${doubled} doubled` : null,
    );
  }

  summary() {
    const broke = this.breaches.length;
    return { tried: this.#tried, held: this.#tried - broke, broke, ...this.#account, ok: broke === 0 && this.#tried > 0 };
  }
}
