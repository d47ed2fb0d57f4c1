import { Tinypool } from "tinypool";
import { command, type Values, wholeNumber } from "../cli/command/command.ts";
import { progressBar } from "../cli/command/progress.ts";
import type { Order, Ordered } from "./simulation/orders/orders.ts";

const USAGE = `Sends the same events through 1, 4 and 16 shards, in three orders each, and compares the published bytes. The events include
updates, retractions, repetitions, late conversions and erasures. An offline fold learns them too.

Usage: npm run orders -- [--impressions N] [--doublings N]

  --impressions N   number of impressions, default 100000; there are about as many other events
  --doublings N     the model begins with the sums of 1,000 x 2^N impressions; default: with none

Example: npm run orders -- --impressions 5000 --doublings 20

Exit code 1: two models differ.`;

const options = { impressions: { type: "string", default: "100000" }, doublings: { type: "string" } } as const;

async function main(values: Values<typeof options>): Promise<boolean> {
  const impressions = wholeNumber("--impressions", values.impressions, 1);
  const pool = new Tinypool({ filename: new URL("./simulation/pool-worker.ts", import.meta.url).href, maxThreads: 2 });
  const doublings = values.doublings === undefined ? undefined : wholeNumber("--doublings", values.doublings, 1, 30);
  const before: Uint8Array | undefined = doublings && (await pool.run(doublings, { name: "grown" }));
  const settings = [1, 4, 16].flatMap((shards) => [0, 1, 2].map((order): Order => ({ impressions, shards, order, before })));
  const bar = progressBar("{bar} {value}/{total} models, {eta_formatted} left");
  bar.start(settings.length + 1, 0);
  const models = await Promise.all(
    settings.map(async (setting) => {
      const ordered: Ordered = await pool.run(setting, { name: "order" });
      bar.increment();
      return { ...setting, ...ordered };
    }),
  );
  const digest: string = await pool.run({ impressions, before }, { name: "fold" });
  bar.increment();
  bar.stop();
  await pool.destroy();

  const [first] = models;
  console.log(
    `${first.events} blocks, conversions and erasures of ${first.impressions} impressions, of which ${first.converted} converted`,
  );
  for (const { shards, order, ...model } of models) {
    const same = model.parts === first.parts && model.digest === digest;
    console.log(
      `${shards} ${shards === 1 ? "shard" : "shards"}, order ${order}: ${model.digest.slice(0, 16)} ${same ? "the same" : "another one"}`,
    );
  }
  console.log(`offline fold:         ${digest.slice(0, 16)}`);
  return models.every(({ parts, digest: own }) => parts === first.parts && own === digest);
}

await command({ usage: USAGE, options, run: main });
