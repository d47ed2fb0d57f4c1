// npm run bench:open: how counting, publishing and storing depend on the number of open impressions in one learner.
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
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
const MOST = Number(process.argv[2] ?? 5_000_000);
const steps = [1000, 10_000, 100_000, 1_000_000, 5_000_000].filter((step) => step <= MOST);
/** Impressions of one request. */
const AT_ONCE = 5000;

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

/** Resident memory of workerd, in MB. */
async function memory(): Promise<number> {
  const [pid] = execFileSync("pgrep", ["-P", String(process.pid), "workerd"], { encoding: "utf8" })
    .trim()
    .split("\n");
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8")) as RegExpExecArray;
  return Number(kilobytes) / 1024;
}
