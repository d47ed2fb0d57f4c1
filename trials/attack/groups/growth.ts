import { setTimeout as sleep } from "node:timers/promises";
import { soundness, statusesIn } from "../judge.ts";
import type { Group } from "../stage.ts";

const CLIENTS = 6;
const STEPS = [2, 3, 8, 16];
/** Longest pause between two steps, in ms. */
const PAUSE_MS = 400;

/** Shards that grow in quick steps while the model serves. Each impression that was answered must convert. */
export const growth: Group = {
  name: "growth",
  async prepare(stage) {
    const { target } = stage;
    const secret = { key: target.secretKey };
    const grow = async (index: number) => {
      const model = await target.createModel(`growth-${index}`, { serving: "edge", encoder: { dimension: 16 } });
      const shown: string[] = [];
      let running = true;
      const client = async (number: number) => {
        for (let n = 0; running; n++) {
          const json = n % 2 === 0 ? { keys: [`visitor-${number}-${n}`] } : {};
          const answer = await target.send("POST", `/v1/models/${model}/recommendations`, { ...secret, json });
          stage.check("a recommendation during growth", soundness(answer));
          const impressionId = /"impressionId":"([\w-]+)"/.exec(answer.text)?.[1];
          if (impressionId) shown.push(impressionId);
        }
      };
      const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
      for (const shards of STEPS) {
        await sleep(stage.below(PAUSE_MS));
        const answer = await target.send("PATCH", `/v1/models/${model}`, { ...secret, json: { shards } });
        stage.check(`growth to ${shards} shards`, soundness(answer));
      }
      await sleep(PAUSE_MS);
      running = false;
      await Promise.all(clients);
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
