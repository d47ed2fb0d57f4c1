import { setTimeout as sleep } from "node:timers/promises";
import { soundness, statusesIn } from "../judge.ts";
import type { Group } from "../stage.ts";

const STEPS = [2, 3, 8, 16];
/** Longest pause between two steps, in ms. */
const PAUSE_MS = 400;

/** Shards that grow in quick steps while the model serves. Each impression that was answered must convert. */
export const growth: Group = {
  name: "growth",
  async prepare(stage) {
    const { target } = stage;
    const grow = async (index: number) => {
      const model = await target.createModel(`growth-${index}`, { serving: "edge", encoder: { dimension: 16 } });
      const shown: string[] = [];
      const change = async () => {
        for (const shards of STEPS) {
          await sleep(stage.below(PAUSE_MS));
          const answer = await target.send("PATCH", `/v1/models/${model}`, { key: target.secretKey, json: { shards } });
          stage.check(`growth to ${shards} shards`, soundness(answer));
        }
        await sleep(PAUSE_MS);
      };
      await stage.whileServing("growth", model, change, (id) => shown.push(id));
      await sleep(1000);
      const statuses: string[] = [];
      for (const impressionId of shown) statuses.push(...statusesIn(await target.convert([{ impressionId, reward: 1 }])));
      const learnt = statuses.filter((status) => status === "applied").length;
      const account = { acknowledged: shown.length, lost: shown.length - learnt, doubled: 0 };
      stage.account(`${shown.length} impressions over ${STEPS.length} steps`, account);
    };
    return stage.repeated(2, grow);
  },
};
