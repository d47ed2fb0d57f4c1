import { policies } from "afterclick";
import { expect, it } from "vitest";
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

it.each([
  ["encoder", { encoder: { dimension: 8 } }],
  ["exploration", { options: { exploration: -1 } }],
  ["options.speed", { options: { speed: 1 } }],
])("a policy in its domain: a change that is wrong by itself names %s", async (name, change) => {
  const options = { domain: { points: [[0], [1]] }, horizon: 9 };
  const stored = await configureModel({ policy: "bpe", window, options });
  const message = expect.stringMatching(new RegExp(`^${name}: `));
  await expect(reconfigureModel({ window, ...change }, stored)).rejects.toMatchObject({ status: 422, message });
});

it.each(bodies.filter(([, { options }]) => options?.norms !== "exact"))("%s: a conflict names what differs", async (_, body) => {
  const stored = await configureModel(body);
  for (const [name, change] of [
    ["seed", { seed: 7 }],
    ["window.ms", { window: { ms: 7_200_000 } }],
    ["goals", { goals: { order: { weight: 1 } } }],
  ] as const) {
    const again = await reconfigureModel({ ...body, ...change }, stored);
    expect(again).toEqual({ conflict: expect.stringMatching(new RegExp(`^${name}: expected .+, got .+`)) });
  }
});

it.each(featured)("%s beside another policy: a repeated body changes nothing", async (policy) => {
  const body: ModelBody = { policy: "otf-lin-ts", window, shadows: [{ name: "other", policy }] };
  const config = await configureModel(body);
  for (const repeated of [body, { window }]) {
    const again = await reconfigureModel(repeated, config);
    expect(!("conflict" in again) && isSame(again, config)).toBe(true);
  }
});

it.each(
  featured.flatMap((policy) =>
    [{ dimension: 32 }, { dimension: 512 }, { numeric: { price: { min: 0, max: 9 } } }].map((encoder) => [policy, encoder] as const),
  ),
)("%s learns its log again with the encoder %j", async (policy, encoder) => {
  const wide = policy.startsWith("delay-lin") && encoder.dimension === 512;
  const asked = { encoder, ...(wide && { options: { forgetting: null } }) };
  const config = await relearntModel(asked, await configureModel({ policy, window }));
  expect(config).toEqual(await configureModel({ policy, window, ...asked }));
  const named = await reconfigureModel({ window, ...asked }, await configureModel({ policy, window }));
  expect(named).toEqual({ conflict: expect.stringMatching(/^(options|encoder)\.\w+: expected .+, got .+/) });
});
