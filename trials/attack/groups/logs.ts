import { changedLog } from "../hostile-log.ts";
import { soundness, unchanged } from "../judge.ts";
import type { Group } from "../stage.ts";

/** Logs that another program has changed, for an import: it takes all lines or none, and does not fail. */
export const logs: Group = {
  name: "logs",
  async prepare(stage) {
    const { target } = stage;
    const secret = { key: target.secretKey };
    const source = await target.createModel("logs-source");
    for (let i = 0; i < 12; i++) {
      const [impressionId] = await target.recommend(source, { context: { country: "PT" } });
      if (i % 2 === 0) await target.convert([{ impressionId, reward: 0.5 }]);
    }
    const lines = (await target.logOf<object>(source)).map((line) => JSON.stringify(line));
    const model = await target.createModel("logs");
    return stage.repeated(240, async (index) => {
      const changed = changedLog(lines, (most) => stage.below(most));
      const before = await target.stateOf(model);
      const answer = await target.send("POST", `/v1/models/${model}/events`, { ...secret, body: changed.join(stage.pick(["\n", "\r\n"])) });
      stage.check(`log ${index}`, soundness(answer));
      if (answer.status >= 400) stage.check(`the state after the refused log ${index}`, unchanged(before, await target.stateOf(model)));
    });
  },
};
