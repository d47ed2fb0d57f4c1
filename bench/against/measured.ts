// A process that measures the variant "afterclick" of one workload: FILE WORKLOAD [quick]. It measures once per message, and waits
// between measurements. Started by process.ts.
import type { Prepared, Workload } from "../workload.ts";
import type { Answer } from "./process.ts";

const [file, name, quick] = process.argv.slice(2);
const tell = (answer: Answer) => process.send?.(answer);

try {
  // Loaded here, so that a package without an export that another workload needs can still be measured.
  const module: Readonly<Record<string, readonly Workload[]>> = await import(new URL(`../workloads/${file}`, import.meta.url).href);
  const workload = Object.values(module)
    .flat()
    .find((each) => each.name === name) as Workload;
  const { variants, close } = await workload.prepare({ alone: true, quick: quick === "quick" });
  const measure: Prepared["variants"][string] | undefined = variants.afterclick;
  process.on("message", async () => tell({ value: await measure?.() }));
  process.on("disconnect", async () => {
    await close?.();
    process.exit();
  });
  tell(measure !== undefined ? { ready: true } : { missing: "this workload compares other variants" });
} catch (error) {
  tell({ missing: (error as Error).message });
  process.exit();
}
