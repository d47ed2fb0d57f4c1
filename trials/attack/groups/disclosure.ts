import { refusal, shown, success } from "../judge.ts";
import type { Attempt, Group } from "../stage.ts";

/** Requests that find a number between 0 and 1 to four digits. */
const HALVINGS = 14;

/** Refusals that could tell what their readers may not know. @param misplaced a secret in a wrong place of AFTERCLICK_SENDERS. */
export const disclosure = (misplaced: string): Group => ({
  name: "disclosure",
  async prepare(stage) {
    const { target } = stage;
    const key = target.publishableKey;
    const model = await target.createModel("disclosure");
    const actions = [
      { id: "tent", features: { brand: "Acme" }, attributes: { margin: 0.731 } },
      { id: "secret-launch", features: { brand: "Acme" }, attributes: { margin: 0.2 }, available: false },
    ];
    await target.send("PUT", `/v1/models/${model}/actions`, { key: target.secretKey, json: actions });
    const ask = (json: object) => target.send("POST", `/v1/models/${model}/recommendations`, { key, json });

    const variable: Attempt[] = ["erp", "orders", "header", "toString"].map((name) => async () => {
      const answer = await target.send("POST", `/v1/hooks/${name}`, { json: {}, headers: { "x-signature": "x" } });
      const told = answer.text.includes(misplaced) ? `expected no secret, got ${shown(answer)}` : refusal(answer, 500);
      stage.check(`a message of the sender ${name}`, told);
    });
    let [low, high] = [0, 1];
    const bisection = Array.from({ length: HALVINGS }, () => async () => {
      const middle = (low + high) / 2;
      const answer = await ask({ filter: { margin: { min: middle } } });
      if (answer.status === 201) low = middle;
      else high = middle;
      stage.check(`a filter by a hidden attribute from ${middle}`, refusal(answer, 422));
    });
    const hints = [
      { filter: { margni: 1 } },
      { maxPer: { attribute: "margin", count: 1 } },
      { boost: [{ filter: { margin: { min: 0.5 } }, by: 1 }] },
      { actions: [{ id: "secret-launc" }] },
      { pin: [{ action: "secret-launc", place: 0 }] },
    ].map(
      (json): Attempt =>
        async () => {
          const answer = await ask(json);
          const told = /did you mean|secret-launch/.test(answer.text)
            ? `expected no suggestion, got ${shown(answer)}`
            : refusal(answer, 422);
          stage.check(`the refusal of ${JSON.stringify(json)}`, told);
        },
    );
    return [
      ...[...variable, ...bisection, ...hints],
      // Shows that the refusals were about the names.
      async () => stage.check("a filter by an open feature", success(await ask({ filter: { brand: "Acme" } }), 201)),
    ];
  },
});
