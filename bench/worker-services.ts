// The workers that workloads measure, and the workers beside them.

import type { Service } from "./workerd.ts";

export const vars = {
  AFTERCLICK_SECRET_KEY: "sk_bench_bench_bench_bench",
  AFTERCLICK_PUBLISHABLE_KEY: "pk_bench_bench_bench_bench",
  AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  AFTERCLICK_TOKEN_KEY: "token_bench_bench_bench",
  AFTERCLICK_JOIN_KEY: "join_bench_bench_bench",
};

const bound = { vars, objects: { LEARNER: "Learner" }, namespaces: { EVENTS: "key-value" } };
export const worker: Service = { name: "worker", entry: "worker/index.ts", ...bound };
export const silent: Service = { name: "silent", entry: "bench/services/silent.ts", ...bound };
export const confirmed: Service = { name: "confirmed", entry: "bench/services/confirmed.ts", ...bound };
export const keyValue: Service = { name: "key-value", entry: "bench/services/key-value.ts" };
export const constant: Service = { name: "hono-constant", entry: "bench/services/constant.ts" };
