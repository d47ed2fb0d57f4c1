import type { Prepared } from "./workload.ts";

/** One way to do the work of a workload. */
export interface Variant {
  /** Does the work `times` times. Returns the seconds it took. */
  run(times: number): number | Promise<number>;
  /** The computed numbers, in the same layout for all variants of a workload. */
  readonly answer?: Float64Array;
  close?(): Promise<void>;
}

/** A variant that cannot run here. */
export interface Missing {
  readonly missing: string;
}

/** Greatest difference between two variants' answers. They may round differently. */
const TOLERANCE = 1e-8;

/** In shorter measurements the clock and the call would dominate the work. */
const LEAST_SECONDS = 0.01;

const perSecond = { us: 1e6, ms: 1e3, s: 1 };

/**
 * Prepares variants for measurement, in `unit` per execution of the work. All answers must equal the first.
 * @throws {Error} naming the variant with another answer.
 */
export async function prepared(unit: keyof typeof perSecond, variants: Readonly<Record<string, Variant | Missing>>): Promise<Prepared> {
  const entries = Object.entries(variants);
  const present = entries.filter((entry): entry is [string, Variant] => "run" in entry[1]);
  const close = async () => void (await Promise.all(present.map(([, variant]) => variant.close?.())));
  try {
    const expected = present.find(([, { answer }]) => answer)?.[1].answer;
    for (const [name, { answer }] of present) checkAnswer(name, answer, expected);
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
  if (answer.length !== expected.length) throw new Error(`${name}: expected an answer of ${expected.length} numbers, got ${answer.length}`);
  const at = answer.findIndex((value, i) => !(Math.abs(value - expected[i]) <= TOLERANCE));
  if (at >= 0) throw new Error(`${name}: expected number ${at} of its answer to be ${expected[at]}, got ${answer[at]}`);
}

/** Measures in batches. The batch size doubles until a batch takes LEAST_SECONDS, and then stays. */
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

// Older Node.js has only the processor time of the whole process.
const threadUsage = process.threadCpuUsage?.bind(process) ?? process.cpuUsage.bind(process);
const cell = new Int32Array(new SharedArrayBuffer(4));

/** Processor time of this thread, in seconds. It excludes other work of the machine. */
export function cpuTime(): number {
  // The time of a running thread is up to 4 ms old. It is exact after the thread has slept, however briefly.
  Atomics.wait(cell, 0, 0, 0.01);
  const { user, system } = threadUsage();
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

/** A variant that times itself. `play` does the work once, and returns its seconds. */
export function repeated(play: () => Promise<number>): Variant {
  return {
    async run(times) {
      let seconds = 0;
      for (let i = 0; i < times; i++) seconds += await play();
      return seconds;
    },
  };
}
