// Tries impression ids that the worker has not signed, or has signed for something else.

import { createHmac, randomBytes } from "node:crypto";
import { refusal, statusVerdict } from "../judge.ts";
import type { Attempt, Group } from "../stage.ts";

const MINUTE_MS = 60_000;
/** Place of the UUID, which begins with the time in 48 bits. */
const TIME_AT = 3;
const MAC_BYTES = 16;

/** Impression ids that the worker has not given, on every route that takes one. */
export const tokens: Group = {
  name: "tokens",
  async prepare(stage) {
    const { target } = stage;
    const [model, other] = [await target.createModel("tokens"), await target.createModel("tokens-other")];
    const [mine, second] = await target.recommend(model, { limit: 2 });
    const [foreign] = await target.recommend(other);
    const states = () => Promise.all([target.stateOf(model), target.stateOf(other)]);
    const before = await states();
    const bytes = (token: string) => Buffer.from(token, "base64url");
    // The model's name stands between the fields and the MAC.
    const fieldsOf = (token: string) => bytes(token).subarray(0, -MAC_BYTES - (token === foreign ? other : model).length);
    const text = (content: Uint8Array) => Buffer.from(content).toString("base64url");

    const refused =
      (what: string, token: string): Attempt =>
      async () => {
        const path = `/v1/impressions/${encodeURIComponent(token)}`;
        const kind = stage.below(5);
        if (kind === 0)
          stage.check(`a conversion of ${what} ${token}`, refusal(await target.convert({ impressionId: token, reward: 1 }), 401));
        else if (kind === 1) {
          const answer = await target.convert([{ impressionId: token, reward: 1 }]);
          stage.check(`an item of ${what} ${token}`, statusVerdict(answer, "unknown"));
        } else {
          const [method, to] = kind === 4 ? ["POST", `${path}/activate`] : [["GET", "DELETE"][kind - 2], path];
          stage.check(`${method} of ${what} ${token}`, refusal(await target.send(method, to, { key: target.secretKey }), 404));
        }
      };

    const flips = stage.repeated(250, async () => {
      const damaged = bytes(stage.pick([mine, second, foreign]));
      const bit = stage.below(damaged.length * 8);
      damaged[bit >> 3] ^= 1 << (bit & 7);
      await refused(`a token with bit ${bit} flipped`, text(damaged))();
    });
    const crossed = [mine, second, foreign].flatMap((one) =>
      [mine, second, foreign].flatMap((two): Attempt[] => {
        if (one === two) return [];
        const [a, b] = [bytes(one), bytes(two)];
        return [
          refused("a token with another's MAC", text(Buffer.concat([a.subarray(0, -MAC_BYTES), b.subarray(-MAC_BYTES)]))),
          refused("a token with another's UUID", text(Buffer.concat([a.subarray(0, 3), b.subarray(3, 19), a.subarray(19)]))),
          refused("a token with another's model", text(Buffer.concat([fieldsOf(one), b.subarray(fieldsOf(two).length)]))),
        ];
      }),
    );
    const texts = [
      ...[`${mine}=`, `${mine}A`, mine.slice(0, -1), ` ${mine}`, `${mine}\u0000`, mine.toUpperCase(), mine.repeat(20)],
      ...["A", "constructor", "__proto__"],
      ...[text(Buffer.concat([bytes(mine).subarray(0, -MAC_BYTES), Buffer.alloc(MAC_BYTES)])), text(fieldsOf(mine))],
      // Other versions of the token.
      ...[0, 1, 3, 255].filter((version) => version !== bytes(mine)[0]).map((version) => text(bytes(mine).fill(version, 0, 1))),
    ];
    const odd = texts.flatMap((token) => Array.from({ length: 3 }, () => refused("a text", token)));

    const now = Date.now();
    /** The token with another time or model, signed with a key. */
    const resigned = (key: string, { shownAt = now, name = model }: { shownAt?: number; name?: string }) => {
      const signed = Buffer.concat([fieldsOf(mine), Buffer.from(name)]);
      signed.writeUIntBE(shownAt, TIME_AT, 6);
      randomBytes(2).copy(signed, TIME_AT + 14);
      const mac = createHmac("sha256", key).update(signed).digest().subarray(0, MAC_BYTES);
      return text(Buffer.concat([signed, mac]));
    };
    const ours = target.secrets.AFTERCLICK_TOKEN_KEY;
    const strangers = ["", "\u0000".repeat(32), target.publishableKey, randomBytes(32).toString("base64url")];
    const signed = [
      ...[6, 60, 60 * 24 * 365].map((minutes) =>
        refused(`a time ${minutes} minutes ahead`, resigned(ours, { shownAt: now + (minutes + 5) * MINUTE_MS })),
      ),
      ...strangers.map((key) => refused("a token of another key", resigned(key, {}))),
    ];
    /** With our key, but of models that there are not. */
    const unheard = ["no-such-model", "constructor", "events", "toString"].map(
      (name): Attempt =>
        async () => {
          const answer = await target.convert([{ impressionId: resigned(ours, { name }), reward: 1 }]);
          stage.check(`an item of the model ${name}, which there is not`, statusVerdict(answer, "unknown"));
        },
    );
    /** Shows that the tokens are signed as the worker signs them. */
    const known: Attempt = async () => {
      const answer = await target.convert([{ impressionId: resigned(ours, {}), reward: 1 }]);
      stage.check("an item of an impression that is not registered yet", statusVerdict(answer, "orphan"));
    };
    const untimely = [
      { timestamp: now + 60 * MINUTE_MS, reward: 1 },
      { timestamp: now - 600 * MINUTE_MS, reward: 1 },
    ].map(
      (item): Attempt =>
        async () => {
          const answer = await target.convert({ impressionId: mine, ...item });
          stage.check(`a conversion ${(item.timestamp - now) / MINUTE_MS} minutes from now`, refusal(answer, 422));
        },
    );
    return [
      ...[...flips, ...crossed, ...odd, ...signed, ...unheard, ...untimely],
      stage.unchanged(before, states),
      known,
      // Shows that the refusals were about the tokens.
      async () => stage.check("the token itself", statusVerdict(await target.convert({ impressionId: mine, reward: 1 }), "applied")),
    ];
  },
};
