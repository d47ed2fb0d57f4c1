import { policies } from "afterclick";
import { describe, expect, it } from "vitest";
import { configureModel, isSame, reconfigureModel } from "../../../worker/domain/model/model.ts";
import { relearntModel } from "../../../worker/domain/model/relearnt-model.ts";
import type { ModelBody } from "../../../worker/protocol/schema.ts";
import { settings } from "../../policies/listed.ts";

const window = { ms: 3_600_000 };
/** Policies that choose in a domain of their own, so the least body names it. */
const OF_DOMAINS = ["bpe-delay", "bpe", "delayed-zooming", "dlpp", "mini-gp-ucb", "mini-gp-ei"];
const featured = policies.map(({ id }) => id).filter((id) => !OF_DOMAINS.includes(id));
const bodies = [
  ...Object.entries(settings).flatMap(([policy, all]) =>
    all.map(({ label, options }) => [`${policy}, ${label}`, { policy, options, window } as ModelBody] as const),
  ),
  ...featured.map((policy) => [`${policy}, with a window alone`, { policy, window } as ModelBody] as const),
];

it.each(bodies.filter(([, { options }]) => options?.norms !== "exact"))("%s: a repeated body changes nothing", async (_, body) => {
  const config = await configureModel(body);
  for (const repeated of [body, { window }, { ...body, options: config.options } as ModelBody]) {
    const again = await reconfigureModel(repeated, config);
    expect(!("conflict" in again) && isSame(again, config)).toBe(true);
  }
});

it.each(bodies)("%s: options that the policy has been given since are no change", async (_, body) => {
  if (body.options?.norms === "exact") return;
  const config = await configureModel(body);
  for (const name of Object.keys(config.options).filter(
    (each) => !(each in (body.options ?? {})) && !["norms", "capacity", "dimension"].includes(each),
  )) {
    const { [name]: __, ...options } = config.options as Record<string, unknown>;
    const stored = { ...config, options };
    const again = await reconfigureModel(body, stored);
    expect(!("conflict" in again) && isSame(again, stored), name).toBe(true);
  }
});

it.each(OF_DOMAINS)("%s, with a window alone: the refusal names the domain", async (policy) => {
  await expect(configureModel({ policy, window })).rejects.toMatchObject({
    status: 422,
    message: expect.stringMatching(/^domain: expected/),
  });
});

describe.each(featured)("%s", (policy) => {
  const body: ModelBody = { policy, window };

  it.each([{ dimension: 32 }, { dimension: 512 }, { numeric: { price: { min: 0, max: 9 } } }])(
    "learns its log again with the encoder %j",
    async (encoder) => {
      const delayed = policy.startsWith("delay-lin") && encoder.dimension === 512;
      const asked = delayed ? { encoder, options: { forgetting: null } } : { encoder };
      const config = await relearntModel(asked, await configureModel(body));
      expect(config).toEqual(await configureModel({ ...body, ...asked }));
    },
  );

  it.each([
    ["seed", { seed: 7 }],
    ["window.ms", { window: { ms: 7_200_000 } }],
    ["encoder.dimension", { encoder: { dimension: 32 } }],
    ["goals", { goals: { order: { weight: 1 } } }],
  ])("names %s, which differs", async (name, change) => {
    const again = await reconfigureModel({ ...body, ...change }, await configureModel(body));
    expect(again).toEqual({ conflict: expect.stringMatching(new RegExp(`^${name}[.\\w]*: expected .+, got .+`)) });
  });
});
