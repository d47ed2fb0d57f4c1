// npm run bench:open: how counting, publishing and storing depend on the number of open impressions in one learner.
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { command, wholeNumber } from "../scripts/command.ts";
import { type Service, startWorkerd } from "./workerd.ts";

const vars = {
  AFTERCLICK_SECRET_KEY: "sk_bench_bench_bench_bench",
  AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  AFTERCLICK_TOKEN_KEY: "token_bench_bench_bench",
};
const intake: Service = {
  name: "intake",
  entry: "bench/services/intake.ts",
  vars,
  objects: { LEARNER: "Learner" },
  namespaces: { EVENTS: "key-value" },
};
const BATCH = 500;
const DIMENSION = 16;
/** Numbers of open impressions at which it measures. */
const STEPS = [1000, 10_000, 100_000, 1_000_000, 5_000_000];
/** Impressions of one request. */
const AT_ONCE = 5000;

const USAGE = `Fills one learner in workerd with open impressions, and measures at 1,000, 10,000 and so on what counting and publishing cost.
One in fifty converts. 5,000,000 impressions take some minutes.

Usage: npm run bench:open -- [options]

  --most N   most impressions, default 1000000

Example: npm run bench:open -- --most 100000`;

async function run({ most }: { readonly most: string }): Promise<void> {
  const steps = STEPS.filter((step) => step <= wholeNumber("--most", most, 1000, 5_000_000));
  const { ports, close } = await startWorkerd([intake, { name: "key-value", entry: "bench/services/key-value.ts" }]);
  console.log("| open impressions | registered/s | bytes each | metrics, ms | describe, ms | snapshot, ms | memory of workerd, MB |");
  console.log("| --: | --: | --: | --: | --: | --: | --: |");
  let shown = 0;
  for (const step of steps) {
    let last: Record<string, number> = {};
    while (shown < step) {
      const count = Math.min(AT_ONCE, step - shown);
      const query = `registrations=${Math.ceil(count / BATCH)}&batch=${Math.min(count, BATCH)}&dimension=${DIMENSION}`;
      last = (await (await fetch(`http://127.0.0.1:${ports.get("intake")}/?${query}`)).json()) as Record<string, number>;
      shown += count;
    }
    const { impressionsPerSecond, bytesPerImpression, metricsMs, describeMs, snapshotMs } = last;
    const cells = [step, impressionsPerSecond, bytesPerImpression, metricsMs, describeMs, snapshotMs, await memory()];
    console.log(`| ${cells.map((cell) => Math.round(cell * 10) / 10).join(" | ")} |`);
  }
  await close();
}

await command({ usage: USAGE, options: { most: { type: "string", default: "1000000" } }, run });

/** Resident memory of workerd, in MB. */
async function memory(): Promise<number> {
  const [pid] = execFileSync("pgrep", ["-P", String(process.pid), "workerd"], { encoding: "utf8" })
    .trim()
    .split("\n");
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8")) as RegExpExecArray;
  return Number(kilobytes) / 1024;
}
