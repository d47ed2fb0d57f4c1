// Tries requests that overlap: repetitions, and changes of a model that serves.

import type { LoggedConversion, LoggedImpression } from "../../soak/check.ts";
import { foldedDigest, type LearntConfig } from "../../soak/fold.ts";
import { accountOf, onceTaken, refusal, soundness, statusesIn, statusVerdict, unchanged } from "../judge.ts";
import type { Attempt, Group } from "../stage.ts";

const AT_ONCE = 12;

type Line = LoggedImpression | LoggedConversion;

interface Description {
  readonly kept: readonly { readonly version: number }[];
}

/** The first line of a log. */
interface Head {
  readonly type: "model";
  readonly digest: string;
  readonly config: LearntConfig;
}

/** Sends one event many times at once, and changes a model while it serves. */
export const races: Group = {
  name: "races",
  async prepare(stage) {
    const { target } = stage;
    const secret = { key: target.secretKey };
    const model = await target.createModel("races", { serving: "edge" });
    const other = await target.createModel("races-learner");
    const acknowledged: string[] = [];
    const atOnce = <Result>(send: (n: number) => Promise<Result>) => Promise.all(Array.from({ length: AT_ONCE }, (_, n) => send(n)));
    const isJoined = (line: Line): line is LoggedConversion =>
      line.type === "conversion" && (line.status === "applied" || line.status === "conflict");

    const sameWebhook = stage.repeated(12, async (index) => {
      const [impressionId] = await target.recommend(model);
      const id = target.webhookId();
      const body = JSON.stringify({ type: "conversion", timestamp: Date.now(), data: { impressionId, reward: 1 } });
      const headers = target.signature(id, body);
      const answers = await atOnce(() => target.send("POST", "/v1/conversions", { body, headers }));
      const statuses = answers.flatMap(statusesIn);
      // An event that comes before its impression is kept, and joined later.
      const verdict = onceTaken(statuses.map((status) => (status === "orphan" ? "applied" : status)));
      stage.check(`webhook ${index} ${AT_ONCE} times at once`, statuses.length === AT_ONCE ? verdict : `expected ${AT_ONCE} statuses`);
      acknowledged.push(id);
    });
    const otherBodies = stage.repeated(4, async (index) => {
      const [impressionId] = await target.recommend(other);
      const id = target.webhookId();
      const timestamp = Date.now();
      await atOnce((n) => target.convert({ impressionId, reward: n / 16, timestamp }, { id }));
      // The greatest of one webhook-id counts, whatever the order.
      const { text } = await target.send("GET", `/v1/impressions/${impressionId}`, secret);
      stage.check(`webhook-id ${index} with ${AT_ONCE} bodies at once`, rewardVerdict(text));
    });
    const sameImpression = stage.repeated(8, async (index) => {
      const json = [{ id: `race-${index}`, action: "mug", shownAt: Date.now() }];
      const answers = await atOnce(() => target.send("POST", `/v1/models/${model}/impressions`, { ...secret, json }));
      const statuses = answers.map(({ text }) => /"status":"(\w+)"/.exec(text)?.[1] ?? text);
      const verdict = onceTaken(statuses.map((status) => (status === "registered" ? "applied" : status)));
      stage.check(`impression ${index} ${AT_ONCE} times at once`, verdict);
    });
    const account: Attempt = async () => {
      const lines = await target.logOf<Line>(model);
      const logged = lines.filter(isJoined).map(({ event }) => event);
      stage.account("webhooks sent at once, in the log", accountOf(acknowledged, logged));
      const impressions = lines.filter(({ type }) => type === "impression");
      const { counts } = await target.stateOf(model);
      stage.check("impressions in count and log", unchanged(counts.impressions, impressions.length));
    };

    const whileServing = (what: string, name: string, change: () => Promise<void>) =>
      stage.whileServing(what, name, change, async (impressionId) => {
        stage.check(`a conversion during ${what}`, soundness(await target.convert([{ impressionId, reward: 1 }])));
      });
    const settled = async (what: string, name: string) => {
      const [head, ...lines] = (await target.logOf<Line | Head>(name)) as [Head, ...Line[]];
      const impressions = lines.filter((line) => line.type === "impression");
      const conversions = lines.filter((line) => line.type === "conversion");
      stage.check(`the state after ${what}`, unchanged(await foldedDigest(head.config, impressions, conversions), head.digest));
    };
    const resets = stage.repeated(2, async (index) => {
      const name = await target.createModel(`reset-${index}`, { serving: stage.pick(["edge", "learner"]) });
      await whileServing("resets", name, async () => {
        for (let n = 0; n < 4; n++) {
          const answer = await target.send("POST", `/v1/models/${name}/reset`, { ...secret, json: {} });
          stage.check("a reset while traffic runs", answer.status === 200 ? null : soundness(answer));
        }
      });
      await settled("resets", name);
    });
    const rollbacks = stage.repeated(2, async (index) => {
      const name = await target.createModel(`rollback-${index}`, { serving: stage.pick(["edge", "learner"]) });
      await whileServing("rollbacks", name, async () => {
        for (let n = 0; n < 4; n++) {
          const { kept }: Description = JSON.parse((await target.send("GET", `/v1/models/${name}`, secret)).text);
          const json = { version: kept.at(1)?.version ?? kept[0].version };
          const answers = await Promise.all([1, 2].map(() => target.send("POST", `/v1/models/${name}/rollback`, { ...secret, json })));
          for (const answer of answers) stage.check("a rollback while traffic runs", soundness(answer));
        }
      });
      const names = (await target.logOf<Line>(name)).filter(isJoined).map(({ event, impression }) => `${event} ${impression}`);
      stage.account("conversions in the log after rollbacks", { ...accountOf(names, names), acknowledged: 0 });
    });
    const deletion: Attempt = async () => {
      const name = await target.createModel("deleted", { serving: "edge" });
      const [impressionId] = await target.recommend(name);
      await whileServing("a deletion", name, async () => {
        const answers = await Promise.all([1, 2, 3].map(() => target.send("DELETE", `/v1/models/${name}`, secret)));
        for (const answer of answers) stage.check("a deletion while traffic runs", soundness(answer));
      });
      stage.check("a deleted model", refusal(await target.send("GET", `/v1/models/${name}`, secret), 404));
      const answer = await target.convert([{ impressionId, reward: 1 }]);
      stage.check("a conversion of a deleted model", statusVerdict(answer, "unknown"));
    };
    return [...sameWebhook, ...otherBodies, ...sameImpression, account, ...resets, ...rollbacks, deletion];
  },
};

function rewardVerdict(text: string): string | null {
  const most = (AT_ONCE - 1) / 16;
  return text.includes(`"reward":${most},`) || text.includes(`"reward":${most}}`) ? null : `expected the reward ${most}, got ${text}`;
}
