import { readdir, readFile } from "node:fs/promises";

/** Measures the CPU time of a process group's runtimes. Linux only. */
export class CpuMeter {
  readonly #group: number;

  constructor(group: number) {
    this.#group = group;
  }

  /** Milliseconds so far. Undefined where /proc states none. */
  async read(): Promise<number | undefined> {
    const times = await Promise.all((await this.#processes()).map(timeOf));
    return times.length === 0 || times.includes(undefined) ? undefined : (times as number[]).reduce((sum, ms) => sum + ms, 0);
  }

  /** Ids of the group's processes that run workerd. */
  async #processes(): Promise<string[]> {
    const all = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
    const mine = await Promise.all(
      all.map(async (id) => {
        // The name is in parentheses and may hold spaces. State, parent and group follow.
        const [, name, rest] = /\((.*)\) (.*)/.exec(await readFile(`/proc/${id}/stat`, "utf8").catch(() => "")) ?? [];
        return name?.startsWith("workerd") && Number(rest.split(" ")[2]) === this.#group;
      }),
    );
    return all.filter((_, i) => mine[i]);
  }
}

/** The time that all threads of a process have run, in ms. */
async function timeOf(process: string): Promise<number | undefined> {
  const threads = await readdir(`/proc/${process}/task`).catch(() => []);
  const texts = await Promise.all(threads.map((thread) => readFile(`/proc/${process}/task/${thread}/schedstat`, "utf8").catch(() => "")));
  const times = texts.flatMap((text) => (text === "" ? [] : [Number(text.split(" ")[0]) / 1e6]));
  return times.length === 0 ? undefined : times.reduce((sum, ms) => sum + ms, 0);
}
