// Building blocks of the golden cases.

import type { Policy, PolicyDescriptor, Window } from "afterclick";
import type { Kernel } from "afterclick/research";
import * as sdk from "afterclick/research";

// The files have known shapes. A file with another shape makes its cases fail.
// biome-ignore lint/suspicious/noExplicitAny: JSON
export type Json = any;
/** `run` throws on a difference. "skipped" means that this version lacks the algorithm. */
export type Case = { name: string; run: () => Promise<"skipped" | undefined> };

/** A case of each item, named by its label. */
export function labelled(items: readonly Json[], run: (item: Json) => ReturnType<Case["run"]>): Case[] {
  return items.map((item) => ({ name: item.label, run: () => run(item) }));
}

/** A policy in its research loop. */
export async function started(policy: PolicyDescriptor, window: Window = "none"): Promise<Policy> {
  return (await sdk.Recommender.create({ policy, window })).policy;
}

export function close(what: string, got: ArrayLike<number> | number, expected: number[] | number, absolute: number, relative = 0): void {
  const a = typeof got === "number" ? [got] : got;
  const b = typeof expected === "number" ? [expected] : expected.flat();
  if (a.length !== b.length) throw new Error(`${what}: expected ${b.length} values, got ${a.length}`);
  for (let i = 0; i < b.length; i++) {
    if (!(Math.abs(a[i] - b[i]) <= absolute + relative * Math.abs(b[i]))) throw new Error(`${what}[${i}]: expected ${b[i]}, got ${a[i]}`);
  }
}

export function equal(what: string, got: unknown, expected: unknown): void {
  if (got !== expected) throw new Error(`${what}: expected ${expected}, got ${got}`);
}

const kernels: Record<string, (options: Json) => Kernel> = {
  se: sdk.squaredExponential,
  matern12: sdk.matern12,
  matern32: sdk.matern32,
  matern52: sdk.matern52,
  linear: sdk.linear,
  "additive-matern32": sdk.additiveMatern32,
};

export function kernelOf({ name, var: variance, lengthscale, bias, context }: Json): Kernel {
  const make = kernels[name];
  if (!make) throw new Error(`unknown kernel ${name}`);
  if (name === "additive-matern32") return make({ variance, lengthscale, bias, context });
  return make(name === "linear" ? { variance, lengthscale, bias: bias ?? 0 } : { variance, lengthscale });
}
