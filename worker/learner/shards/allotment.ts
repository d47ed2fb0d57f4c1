import type { Allowance } from "../../rpc/message.ts";

/** A shard's claim on one limit. */
interface Claim {
  readonly used: number;
  /** The most that it may use until it has confirmed less. */
  readonly committed: number;
}

const NAMES = ["open", "bytes", "deferred"] as const;

/** A shard's claims on all limits. */
export interface Claims {
  readonly used: Allowance;
  readonly committed: Allowance;
}

/** The part of the limits that each shard may use from now on. Whatever the shards have confirmed, together they hold at most the limits of the model. */
export function allotted(limits: Allowance, claims: readonly Claims[]): Allowance[] {
  const columns = NAMES.map((name) => {
    const own = claims.map(({ used, committed }): Claim => ({ used: used[name], committed: committed[name] }));
    return allotment(limits[name], own);
  });
  return claims.map((_, i) => Object.fromEntries(NAMES.map((name, j) => [name, columns[j][i]])) as unknown as Allowance);
}

/** The greater of two allowances, limit by limit: a shard that takes one keeps what it uses, or was allowed, already. */
export function committedTo(allowance: Allowance, already: Allowance): Allowance {
  return Object.fromEntries(NAMES.map((name) => [name, Math.max(allowance[name], already[name])])) as unknown as Allowance;
}

/** Whether a shard with this allowance has at most half of the part that is its own by now. */
export const isShort = (allowance: Allowance, part: Allowance): boolean =>
  NAMES.some((name) => part[name] > 0 && 2 * allowance[name] <= part[name]);

/**
 * Divides one limit: each shard gets what it uses and an equal share of the rest. A shard gets more than before only out of what no other
 * has committed. If that is not enough for all of them, each gets the same part of what it lacks.
 */
function allotment(limit: number, claims: readonly Claim[]): number[] {
  const rest = Math.floor(Math.max(0, limit - sum(claims.map(({ used }) => used))) / claims.length);
  const free = Math.max(0, limit - sum(claims.map(({ committed }) => committed)));
  const lacking = sum(claims.map(({ used, committed }) => Math.max(0, used + rest - committed)));
  let left = free;
  return claims.map(({ used, committed }) => {
    const lacks = used + rest - committed;
    if (lacks <= 0) return used + rest;
    const more = Math.min(left, Math.floor(lacks * Math.min(1, free / lacking)));
    left -= more;
    return committed + more;
  });
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
