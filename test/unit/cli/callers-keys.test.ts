import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { UsageError } from "../../../cli/command/command.ts";
import { callersKeys } from "../../../cli/worker/callers-keys.ts";
import { DEV_VARS, freshSecrets, readDevVars, writeDevVars } from "../../../cli/worker/dev-vars.ts";

// The keys with which commands call a worker, from the environment and from a folder's own file.

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NAMES = ["AFTERCLICK_SECRET_KEY", "AFTERCLICK_PUBLISHABLE_KEY", "AFTERCLICK_WEBHOOK_SECRET"];

const own = process.cwd();
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-keys-"));
  process.chdir(folder);
  for (const name of NAMES) vi.stubEnv(name, "");
});
afterEach(async () => {
  process.chdir(own);
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const keysOf = (vars: Record<string, string>) => {
  for (const [name, value] of Object.entries(vars)) vi.stubEnv(name, value);
  return callersKeys();
};

it.each([
  ["  sk_new sk_old\n", "sk_new"],
  ["sk_new\nsk_old", "sk_new"],
  [`sha256:${"a".repeat(64)} sk_old`, "sk_old"],
  ["sk", "sk"],
])("takes the first of the values %j of a key that is no hash", async (value, key) => {
  const keys = await keysOf({ AFTERCLICK_SECRET_KEY: value, AFTERCLICK_PUBLISHABLE_KEY: value });
  expect([keys.get("AFTERCLICK_SECRET_KEY"), keys.find("AFTERCLICK_PUBLISHABLE_KEY")]).toEqual([key, key]);
});

it.each(["  ", `sha256:${"a".repeat(64)}`])("says where it looks for a key that is missing: %j", async (value) => {
  const keys = await keysOf({ AFTERCLICK_SECRET_KEY: value });
  expect(keys.find("AFTERCLICK_SECRET_KEY")).toBeUndefined();
  expect(() => keys.get("AFTERCLICK_SECRET_KEY")).toThrow(
    new UsageError(
      'AFTERCLICK_SECRET_KEY: expected a value that is no hash, in the environment or in .dev.vars, got none; "npm start" makes one for a local worker',
    ),
  );
});

it.each([
  [SECRET, SECRET],
  [`own=${SECRET}`, SECRET],
  [`own=${SECRET} whsec_b2xk`, SECRET],
  [`${SECRET.slice(0, -2)}+/==`, `${SECRET.slice(0, -2)}+/==`],
])("takes the webhook secret %s without the name of its sender", async (value, secret) => {
  expect((await keysOf({ AFTERCLICK_WEBHOOK_SECRET: value })).webhookSecret()).toBe(secret);
});

it.each(["hush", "whsec_", "whsec_a b!", "whsec_a-b", `x${SECRET}`, "own=hush", "whsec_YQ==x"])(
  "refuses the webhook secret %s",
  async (value) => {
    const keys = await keysOf({ AFTERCLICK_WEBHOOK_SECRET: value.replace(" ", "") });
    expect(() => keys.webhookSecret()).toThrow("AFTERCLICK_WEBHOOK_SECRET: expected whsec_ and base64;");
  },
);

it("takes from the folder's file what the environment lacks", async () => {
  await writeFile(join(folder, DEV_VARS), 'AFTERCLICK_SECRET_KEY="sk_file"\nAFTERCLICK_PUBLISHABLE_KEY=pk_file\n');
  const keys = await keysOf({ AFTERCLICK_PUBLISHABLE_KEY: "pk_env" });
  expect([keys.get("AFTERCLICK_SECRET_KEY"), keys.get("AFTERCLICK_PUBLISHABLE_KEY")]).toEqual(["sk_file", "pk_env"]);
});

it("reads no secrets where there is no file, and names a file that cannot be read", async () => {
  expect(await readDevVars()).toEqual({});
  await mkdir(join(folder, DEV_VARS));
  await expect(readDevVars()).rejects.toThrow("EISDIR");
});

it("keeps local secrets in a file for its owner alone", async () => {
  const file = join(folder, DEV_VARS);
  await writeDevVars({ A: "1 2", B: "x=y", C: '{"woo":{"secret":"s"}}' });
  expect(await readFile(file, "utf8")).toBe(`A="1 2"\nB="x=y"\nC='{"woo":{"secret":"s"}}'\n`);
  expect(await readDevVars()).toEqual({ A: "1 2", B: "x=y", C: '{"woo":{"secret":"s"}}' });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it("generates five secrets, all of them new each time", () => {
  const [one, other] = [freshSecrets(), freshSecrets()];
  expect(one).toEqual({
    AFTERCLICK_SECRET_KEY: expect.stringMatching(/^sk_[\w-]{32}$/),
    AFTERCLICK_PUBLISHABLE_KEY: expect.stringMatching(/^pk_[\w-]{32}$/),
    AFTERCLICK_WEBHOOK_SECRET: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    AFTERCLICK_TOKEN_KEY: expect.stringMatching(/^[\w-]{43}$/),
    AFTERCLICK_JOIN_KEY: expect.stringMatching(/^[\w-]{43}$/),
  });
  expect(new Set([...Object.values(one), ...Object.values(other)]).size).toBe(10);
});
