import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { run } from "../../../../cli/doctor.ts";
import { ExaminedWorker, refuse, WEBHOOK_SECRET } from "../../../support/examined-worker.ts";
import { endPauses, notedPauses } from "../../../support/pauses.ts";
import { ran } from "../../../support/ran.ts";

// The command `doctor`, as it is called. The model has a name of its own each time.

let worker: ExaminedWorker;
beforeEach(() => {
  notedPauses();
  worker = new ExaminedWorker();
  worker.listen();
  vi.stubEnv("AFTERCLICK_SECRET_KEY", "sk");
  vi.stubEnv("AFTERCLICK_PUBLISHABLE_KEY", "pk");
  vi.stubEnv("AFTERCLICK_WEBHOOK_SECRET", WEBHOOK_SECRET);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  endPauses();
});

const called = (...args: string[]) => ran(run, "--url", "https://worker.example", ...args);

it("prints a line for each check, and that the worker works", async () => {
  const { code, stdout, stderr } = await called("--origin", "https://shop.example");
  const lines = stdout.split("\n");
  expect([code, stderr]).toEqual([0, ""]);
  expect(lines.slice(0, 2)).toEqual([
    "ok      address         https://worker.example answers in 0 ms",
    "ok      secret key      accepted; published models: 0",
  ]);
  expect(lines[9]).toBe("ok      origins         pages of https://shop.example may call, others may not");
  expect(lines[12]).toMatch(/^ok {6}clean-up {8}model doctor-[0-9a-f]{12} deleted$/);
  expect(lines.slice(13)).toEqual(["", "The worker works.", ""]);
});

it("makes a model of another name each time", async () => {
  const names = [await called(), await called()].map(({ stdout }) => /model (doctor-\w+) deleted/.exec(stdout)?.[1]);
  expect(new Set(names).size).toBe(2);
});

it("ends with exit code 1 if one check is wrong", async () => {
  worker.answers["POST /v1/hooks/doctor-invalid"] = refuse(500);
  const { code, stdout } = await called();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^wrong {3}senders {9}messages of doctor-invalid fail: /m);
  expect(stdout).toMatch(/^ok {6}clean-up/m);
  expect(stdout).toMatch(/\n\nThe worker needs attention: see the lines that begin with wrong\.\n$/);
});

it.each(["shop.example", "https://shop.example/", "https://shop.example/page", "HTTPS://SHOP.EXAMPLE"])(
  "refuses the origin %s",
  async (origin) => {
    const { code, stderr } = await called("--origin", "https://shop.example", "--origin", origin);
    expect([code, stderr.split("\n")[0]]).toEqual([1, `--origin: expected an origin such as https://shop.example, got ${origin}`]);
    expect(worker.asked).toEqual([]);
  },
);

it("needs a URL", async () => {
  const { code, stderr } = await ran(run);
  expect([code, stderr.split("\n")[0]]).toEqual([1, "--url: expected a URL with http or https, got "]);
});
