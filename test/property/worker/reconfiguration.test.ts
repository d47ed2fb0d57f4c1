import { expect, it } from "vitest";
import { configureModel, isSame, reconfigureModel } from "../../../worker/domain/model/model.ts";
import type { ModelBody } from "../../../worker/protocol/schema.ts";
import { settings } from "../../policies/listed.ts";

const window = { ms: 3_600_000 };
const bodies = Object.entries(settings).flatMap(([policy, all]) =>
  all.map(({ label, options }) => [`${policy}, ${label}`, { policy, options, window } as ModelBody] as const),
);

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
    (each) => !(each in (body.options ?? {})) && each !== "norms" && each !== "capacity",
  )) {
    const { [name]: __, ...options } = config.options as Record<string, unknown>;
    const stored = { ...config, options };
    const again = await reconfigureModel(body, stored);
    expect(!("conflict" in again) && isSame(again, stored), name).toBe(true);
  }
});
