import type { Prepared } from "./workload.ts";

/** One way to do the work of a workload. */
export interface Variant {
  /** Does it so many times, and returns the seconds that took. */
  run(times: number): number | Promise<number>;
  /** What it computes, laid out alike by all variants of a workload. */
  readonly answer?: Float64Array;
  close?(): Promise<void>;
}

/** A variant that cannot run here. */
export interface Missing {
  readonly missing: string;
}

/** What two variants may differ by, at most: they round differently, but compute the same. */
const TOLERANCE = 1e-8;

/** Shorter measurements would show the clock and the caller, not the work. */
const LEAST_SECONDS = 0.01;

const perSecond = { us: 1e6, ms: 1e3, s: 1 };

/**
 * Makes variants measurable, in `unit` for doing the work once, if all those with an answer give that of the first.
 * @throws {Error} naming the variant that computes something else.
 */
export async function prepared(unit: keyof typeof perSecond, variants: Readonly<Record<string, Variant | Missing>>): Promise<Prepared> {
  const entries = Object.entries(variants);
  const present = entries.filter((entry): entry is [string, Variant] => "run" in entry[1]);
  const close = async () => void (await Promise.all(present.map(([, variant]) => variant.close?.())));
  try {
    for (const [name, { answer }] of present) checkAnswer(name, answer, present[0][1].answer);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    variants: Object.fromEntries(present.map(([name, variant]) => [name, batches(variant, perSecond[unit])])),
    missing: Object.fromEntries(entries.flatMap(([name, variant]) => ("missing" in variant ? [[name, variant.missing]] : []))),
    close,
  };
}

function checkAnswer(name: string, answer: Float64Array | undefined, expected: Float64Array | undefined): void {
  if (!answer || !expected) return;
  if (answer.length !== expected.length) throw new Error(`${name} gives ${answer.length} numbers instead of ${expected.length}`);
  const at = answer.findIndex((value, i) => !(Math.abs(value - expected[i]) <= TOLERANCE));
  if (at >= 0) throw new Error(`${name} computes something else: number ${at} of its answer is ${answer[at]}, not ${expected[at]}`);
}

/** Measures in batches, as long as the clock needs, from then on of the same size. */
function batches({ run }: Variant, scale: number): () => Promise<number> {
  let times = 1;
  return async () => {
    for (;;) {
      const seconds = await run(times);
      if (seconds >= LEAST_SECONDS) return (seconds / times) * scale;
      times *= 2;
    }
  };
}

// An older Node.js knows the processor time of the whole process only.
const cpuUsage = process.threadCpuUsage?.bind(process) ?? process.cpuUsage.bind(process);
const cell = new Int32Array(new SharedArrayBuffer(4));

/** Processor time of this thread in seconds: what else the machine does is not in it. */
export function cpuTime(): number {
  // A running thread's time is up to 4 ms old; it is exact once the thread has slept, for however short.
  Atomics.wait(cell, 0, 0, 0.01);
  const { user, system } = cpuUsage();
  return (user + system) / 1e6;
}

/** A variant that runs in this process. */
export function local(work: () => unknown, answer?: Float64Array): Variant {
  return {
    answer,
    run(times) {
      const start = cpuTime();
      for (let i = 0; i < times; i++) work();
      return cpuTime() - start;
    },
  };
}
