import { shown, soundness, success, type Verdict } from "../judge.ts";
import type { Group } from "../stage.ts";

/** The greatest amount that counts, in any currency. */
const MOST = 1e12;
/** Amounts as JSON: at and beyond the greatest one, beyond what a double holds exactly, and none at all. */
const AMOUNTS = [
  ...["0", "-0", "0.1", "1e-320", "1e12", "-1e12", "999999999999.99", "1000000000000.01", "-1e13", "9007199254740993", "1e300"],
  ...["1e999", "-1e999", "123456789012345678901234567890", '"5"', "true", "[]"],
];
const READS = ["", "/metrics"];

/** Amounts of any size. One that is too large is refused, and the model answers with finite figures afterwards. */
export const amounts: Group = {
  name: "amounts",
  async prepare(stage) {
    const { target } = stage;
    const secret = { key: target.secretKey };
    const goals = { click: { weight: 0 }, purchase: { weight: 1, after: "click", value: { currency: "EUR" } } };
    const model = await target.createModel("amounts", { goals });
    const sent = stage.repeated(120, async (index) => {
      const [impressionId] = await target.recommend(model);
      const lines = Array.from({ length: 1 + stage.below(3) }, () => stage.pick(AMOUNTS));
      const items = lines.map((amount) => `{"impressionId":"${impressionId}","goal":"purchase","reward":${amount}}`);
      const id = target.webhookId();
      const body = `{"type":"conversion","timestamp":${Date.now()},"data":[${items}]}`;
      const answer = await target.send("POST", "/v1/conversions", { body, headers: target.signature(id, body) });
      stage.check(`amounts ${index}: ${lines}`, soundness(answer) ?? sizeVerdict(lines, answer.status));
    });
    const read = READS.map((path) => async () => {
      const answer = await target.send("GET", `/v1/models/${model}${path}`, secret);
      stage.check(`figures after the amounts: ${path || "model"}`, success(answer, 200) ?? finiteness(answer.text));
    });
    return [
      ...sent,
      ...read,
      async () => {
        const answer = await target.send("POST", `/v1/models/${model}/recommendations`, { ...secret, json: {} });
        stage.check("a decision after the amounts", answer.status === 201 ? finiteness(answer.text) : `expected 201, got ${shown(answer)}`);
      },
    ];
  },
};

/** A list of amounts that count is taken. One that is no number refuses the whole message. */
function sizeVerdict(lines: readonly string[], status: number): Verdict {
  const countable = lines.every((line) => Math.abs(Number(JSON.parse(line))) <= MOST && typeof JSON.parse(line) === "number");
  return countable && status !== 202 ? `expected 202, got ${status}` : null;
}

/** JSON writes a number that is not finite as null, and a score or a mean of null is none. */
function finiteness(text: string): Verdict {
  const [found] = /"(score|mean|width|rate|probability)":null/.exec(text) ?? [];
  return found && !text.includes('"tooFew"') ? `expected finite figures, got ${found}` : null;
}
