import { setTimeout as sleep } from "node:timers/promises";
import { breaches, nameOf } from "../../soak/check.ts";
import { evidenceOf } from "../../soak/evidence.ts";
import { Traffic } from "../../soak/traffic.ts";
import type { Victim } from "../../soak/victim.ts";
import { accountOf } from "../judge.ts";
import type { Group } from "../stage.ts";

const KILLS = 4;
const WINDOW_MS = 15_000;

/** Kills the worker while it serves, and accounts for every reward that it has acknowledged. */
export const kills = (victim: Victim, graceMs: number): Group => ({
  name: "kills",
  async prepare(stage) {
    const { target } = stage;
    const model = await target.createModel("kills", { serving: "edge", window: { ms: WINDOW_MS }, publish: { ms: 1000 } });
    const recommendations = Math.round(1000 * stage.scale);
    const plan = { seed: stage.below(2 ** 31), recommendations, conversions: Math.round(recommendations / 2), windowMs: WINDOW_MS };
    const { AFTERCLICK_WEBHOOK_SECRET: secret } = target.secrets;
    const signal = new AbortController().signal;
    const traffic = new Traffic({ base: target.base, model, key: target.secretKey, secret, plan, signal });
    const done = () => (traffic.answered.size + traffic.accepted.length) / (plan.recommendations + plan.conversions);
    let running: Promise<void> | undefined;
    const killed = Array.from({ length: KILLS }, (_, kill) => async () => {
      running ??= traffic.run();
      while (done() < (kill + 1) / (KILLS + 1)) await sleep(5);
      await victim.kill();
      await victim.start();
      stage.check(`kill ${kill + 1}`, null);
    });
    return [
      ...killed,
      async () => {
        await running;
        const timing = { windowMs: WINDOW_MS, graceMs };
        const evidence = await evidenceOf({ base: target.base, key: target.secretKey, model, traffic, timing, kills: victim.kills });
        const { accepted, conversions } = evidence;
        stage.account(`${accepted.length} rewards over ${KILLS} kills`, accountOf(accepted.map(nameOf), conversions.map(nameOf)));
        const broken = [...traffic.failures, ...breaches(evidence)];
        for (const sentence of broken) stage.check("the log after the kills", sentence);
        if (broken.length === 0) stage.check("the log after the kills", null);
      },
    ];
  },
});
