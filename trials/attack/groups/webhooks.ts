// Tries webhooks that no sender has signed, and signed ones at a wrong time.

import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { slowing } from "../flood.ts";
import { refusal, statusVerdict, unchanged } from "../judge.ts";
import type { Attempt, Group } from "../stage.ts";

const MINUTE_MS = 60_000;
const MEGABYTE = 1024 * 1024;

/** Forged, old, replayed and oversized webhooks. */
export const webhooks: Group = {
  name: "webhooks",
  async prepare(stage) {
    const { target } = stage;
    const model = await target.createModel("webhooks");
    const impressions = await target.recommend(model, { limit: 3 });
    const [forged, replayed, restated] = impressions;
    const before = await target.stateOf(model);
    const post = (body: string, headers: Record<string, string>) => target.send("POST", "/v1/conversions", { body, headers });
    const bodyOf = (impressionId: string, reward: number) =>
      JSON.stringify({ type: "conversion", timestamp: Date.now(), data: { impressionId, reward } });

    const body = bodyOf(forged, 1);
    const id = target.webhookId();
    const right = target.signature(id, body);
    const { "webhook-signature": signature, ...unsigned } = right;
    const stranger = new Webhook(`whsec_${randomBytes(32).toString("base64")}`);
    const at = (minutes: number) => target.signature(id, body, new Date(Date.now() + minutes * MINUTE_MS));
    const wrong: Record<string, Record<string, string>> = {
      "no headers": {},
      "no signature": unsigned,
      "an empty signature": { ...right, "webhook-signature": "" },
      "a secret key instead": { ...unsigned, authorization: `Bearer ${target.secretKey}` },
      "a publishable key instead": { ...unsigned, authorization: `Bearer ${target.publishableKey}` },
      "another secret": target.signature(id, body, new Date(), stranger),
      "the signature of another body": target.signature(id, `${body} `),
      "the signature of another id": { ...right, "webhook-id": `${id}1` },
      "the signature of another time": { ...right, "webhook-timestamp": String(Number(right["webhook-timestamp"]) + 1) },
      "a version that is none": { ...right, "webhook-signature": signature.replace("v1,", "v2,") },
      "no version": { ...right, "webhook-signature": signature.slice(3) },
      "the signature in capitals": { ...right, "webhook-signature": signature.toUpperCase() },
      "half a signature": { ...right, "webhook-signature": signature.slice(0, 24) },
      "the right signature as the ninth": { ...right, "webhook-signature": `${`v1,${"A".repeat(43)}= `.repeat(8)}${signature}` },
      "1,000 signatures": { ...right, "webhook-signature": `v1,${"A".repeat(43)}= `.repeat(300) },
      "an id of 129 characters": target.signature("i".repeat(129), body),
      "an id with a space": target.signature("a b", body),
      "a time with a plus": { ...right, "webhook-timestamp": `+${right["webhook-timestamp"]}` },
      "a time with a leading zero": { ...right, "webhook-timestamp": `0${right["webhook-timestamp"]}` },
      "a time as an exponent": { ...right, "webhook-timestamp": "1e9" },
      "a time that is no number": { ...right, "webhook-timestamp": "NaN" },
    };
    const refused = Object.entries(wrong).map(([what, headers]) => stage.refused(`a webhook with ${what}`, () => post(body, headers), 401));
    // Signed when it is sent, however long the groups before take.
    const untimely = [-6, 6, -Date.now() / MINUTE_MS + 1].map((minutes) =>
      stage.refused(`a webhook of a time in ${minutes} minutes`, () => post(body, at(minutes)), 401),
    );
    const damaged = stage.repeated(60, async () => {
      const place = stage.below(body.length);
      const changed = `${body.slice(0, place)}${String.fromCharCode(33 + stage.below(90))}${body.slice(place + 1)}`;
      if (changed !== body) stage.check(`a webhook changed to ${changed}`, refusal(await post(changed, right), 401));
    });
    const padded = `${body}${" ".repeat(MEGABYTE)}`;
    const large = [
      stage.refused("a signed webhook over a megabyte", () => post(padded, target.signature(target.webhookId(), padded)), 413),
      stage.refused("a forged webhook over a megabyte", () => post(padded, right), 401, 413),
    ];
    const flood: Attempt = async () => {
      const headers = { ...right, "webhook-id": "flood", "cf-connecting-ip": target.address() };
      stage.check("forged webhooks from one address", await slowing(() => post(body, headers)));
      const between = { "cf-connecting-ip": target.address() };
      const forge = async () => {
        await target.send("POST", "/v1/hooks/stripe", { json: {}, headers: between });
        return post(body, { ...headers, ...between });
      };
      stage.check("forged webhooks with other refusals between them", await slowing(forge));
    };

    const replay: Attempt = async () => {
      const bytes = bodyOf(replayed, 1);
      const headers = target.signature(target.webhookId(), bytes);
      stage.check("a webhook", statusVerdict(await post(bytes, headers), "applied"));
      for (let again = 0; again < 5; again++) stage.check("the same webhook again", statusVerdict(await post(bytes, headers), "duplicate"));
    };
    const retry: Attempt = async () => {
      const same = target.webhookId();
      stage.check("a webhook", statusVerdict(await target.convert({ impressionId: restated, reward: 0.5 }, { id: same }), "applied"));
      const other = await target.convert({ impressionId: restated, reward: 1 }, { id: same });
      stage.check("the same webhook-id with another reward", statusVerdict(other, "conflict"));
    };
    /** An erased impression stays erased, whatever is sent again. */
    const erasure: Attempt = async () => {
      const [erased] = await target.recommend(model);
      const bytes = bodyOf(erased, 1);
      const headers = target.signature(target.webhookId(), bytes);
      await post(bytes, headers);
      await target.send("DELETE", `/v1/impressions/${erased}`, { key: target.secretKey });
      const learnt = async () => {
        const { digest, counts } = await target.stateOf(model);
        return { digest, ...counts, late: 0 };
      };
      const after = await learnt();
      stage.check("a webhook of an erased impression again", statusVerdict(await post(bytes, headers), "late"));
      const other = await target.convert({ impressionId: erased, reward: 0.25 });
      stage.check("another webhook of an erased impression", statusVerdict(other, "late"));
      stage.check("the state after webhooks of an erased impression", unchanged(after, await learnt()));
      const kept = (await target.logOf<{ event?: string }>(model)).filter(({ event }) => event === headers["webhook-id"]);
      stage.check("the log after webhooks of an erased impression", unchanged([], kept));
      const asked = await target.send("GET", `/v1/impressions/${erased}`, { key: target.secretKey });
      stage.check("an erased impression", refusal(asked, 404));
    };
    const account: Attempt = async () => {
      const { counts } = await target.stateOf(model);
      const logged = await target.logOf<{ type: string; impression?: string; status?: string }>(model);
      const applied = logged.filter(({ type, status }) => type === "conversion" && status === "applied").length;
      stage.check("the applied conversions in count and log", unchanged(counts.applied, applied));
    };
    return [
      ...[...refused, ...untimely, ...damaged, ...large, flood, stage.unchanged(before, () => target.stateOf(model))],
      // Shows that the refusals were about the signatures.
      async () => stage.check("the webhook with its own signature", statusVerdict(await post(body, target.signature(id, body)), "applied")),
      ...[replay, retry, account, erasure],
    ];
  },
};
