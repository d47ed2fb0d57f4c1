import { afterEach, expect, it, vi } from "vitest";
import { numberIn, prepared, timeIn, UsageError, unreadable, wholeNumber, workerUrl } from "../../../cli/command/command.ts";
import { ran } from "../../support/ran.ts";

// The command line of every command: its arguments, its exit codes and its errors.

class Known extends Error {}

const options = { name: { type: "string" }, loud: { type: "boolean", default: false } } as const;
const usage = (called: string) => `Usage: ${called} FILE`;
const commandThat = (run: (values: object, argument: string) => Promise<unknown>, more: object = {}) =>
  prepared({ name: "greet", usage, options, argument: "FILE", known: [Known], run, ...more });
const throwing = (error: Error, more: object = {}) => commandThat(() => Promise.reject(error), more);

afterEach(() => void vi.unstubAllEnvs());

it("hands over the values and the argument", async () => {
  const calls: unknown[] = [];
  const run = commandThat(async (...call) => void calls.push(call));
  expect(await ran(run, "a.csv", "--name", "x")).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(calls).toEqual([[{ name: "x", loud: false, help: false }, "a.csv"]]);
});

it.each([
  [false, 1],
  [true, 0],
  [undefined, 0],
  [0, 0],
])("ends with a code: %s is %d", async (result, code) => {
  const run = commandThat(async () => result);
  expect((await ran(run, "a.csv")).code).toBe(code);
});

it.each(["--help", "-h"])("prints its usage for %s, and runs nothing", async (help) => {
  const run = throwing(new Error("it ran"));
  expect(await ran(run, help)).toEqual({ code: 0, stdout: "Usage: npx afterclick greet FILE\n", stderr: "" });
});

it("is called by npm or by npx", async () => {
  vi.stubEnv("npm_lifecycle_event", "greet");
  expect((await ran(throwing(new Error("it ran")), "--help")).stdout).toBe("Usage: npm run greet -- FILE\n");
  vi.stubEnv("npm_lifecycle_event", "other");
  expect((await ran(throwing(new Error("it ran")), "--help")).stdout).toBe("Usage: npx afterclick greet FILE\n");
  expect((await ran(throwing(new Error("it ran"), { usage: "As text" }), "--help")).stdout).toBe("As text\n");
});

it.each<[args: string[], message: string, more?: object]>([
  [[], "expected one FILE, got 0"],
  [["a", "b"], "expected one FILE, got 2"],
  [["a", "--wrong"], "Unknown option '--wrong'"],
  [["a"], "Unexpected argument 'a'", { argument: undefined }],
  [["a"], "--name: expected one", { run: () => Promise.reject(new UsageError("--name: expected one")) }],
])("shows its usage below the message, for the arguments %j: %s", async (args, message, more) => {
  const { code, stdout, stderr } = await ran(throwing(new Error("it ran"), more), ...args);
  expect([code, stdout, stderr.startsWith(message)]).toEqual([1, "", true]);
  expect(stderr).toMatch(/^[^\n]*\n\nUsage: npx afterclick greet FILE\n$/);
});

it("shows a known error without its stack, and another with it", async () => {
  expect(await ran(throwing(new Known("no such log")), "a")).toEqual({ code: 1, stdout: "", stderr: "no such log\n" });
  expect((await ran(throwing(new Error("a fault")), "a")).stderr).toMatch(/^Error: a fault\n +at /);
  // The code of a process that has failed is a number.
  const failed = Object.assign(new Error("Command failed: node missing.ts"), { code: 1 });
  expect((await ran(throwing(failed), "a")).stderr).toMatch(/^Error: Command failed: node missing\.ts\n +at /);
  const bare = Object.assign(new Error("a fault"), { stack: undefined });
  expect((await ran(throwing(bare), "a")).stderr).toBe("a fault\n");
  expect((await ran(prepared({ usage: "u", run: () => Promise.reject(new Known("no such log")) }))).stderr).toMatch(
    /^Error: no such log\n +at /,
  );
});

it("shows an explanation instead of the message, where there is one", async () => {
  const explain = ({ message }: Error) => (message === "ENOENT" ? "There is no such log." : undefined);
  expect((await ran(throwing(new Known("ENOENT"), { explain }), "a")).stderr).toBe("There is no such log.\n");
  expect((await ran(throwing(new Known("other"), { explain }), "a")).stderr).toBe("other\n");
});

it.each(["ENOENT", "EISDIR", "EACCES"])("says that a log cannot be read: %s", (code) => {
  expect(unreadable(Object.assign(new Error("open log"), { code }))).toBe("Cannot read the log: open log");
  expect(unreadable(Object.assign(new Error("open log"), { code: `${code}X` }))).toBeUndefined();
  expect(unreadable(new Error("open log"))).toBeUndefined();
});

it("takes the URL of a worker", () => {
  expect(workerUrl("http://127.0.0.1:8787").href).toBe("http://127.0.0.1:8787/");
  expect(workerUrl("https://a.example/recommender").href).toBe("https://a.example/recommender");
  for (const text of ["", "nowhere", "ftp://a.example", "xhttp://a", "httpsx://a"])
    expect(() => workerUrl(text)).toThrow(new UsageError(`--url: expected a URL with http or https, got ${text}`));
});

it("takes numbers from one end of their range to the other", () => {
  const numbers = { "-1": -1, "2": 2, "1.": 1, ".5": 0.5, "5e-1": 0.5, "+0.50": 0.5 };
  for (const [text, number] of Object.entries(numbers)) expect(numberIn("--n", text, -1, 2)).toBe(number);
  for (const text of ["-1.01", "2.01", "2x", "x2", "", " ", "0x1", "0b1", "Infinity", "1,0", "1e", "NaN", " 1"])
    expect(() => numberIn("--n", text, -1, 2)).toThrow(new UsageError(`--n: expected a number from -1 to 2, got ${text}`));
});

it("takes whole numbers from one end of their range to the other", () => {
  expect([wholeNumber("--n", "3", 3, 12), wholeNumber("--n", "12", 3, 12), wholeNumber("--n", "9007199254740991", 0)]).toEqual([
    3,
    12,
    Number.MAX_SAFE_INTEGER,
  ]);
  for (const text of ["2", "13", "4.0", "+4", "4e0", "", "x4", "4x"])
    expect(() => wholeNumber("--n", text, 3, 12)).toThrow(new UsageError(`--n: expected a whole number from 3 to 12, got ${text}`));
  expect(() => wholeNumber("--n", "9007199254740993", 0)).toThrow("expected a whole number from 0 to 9007199254740991");
});

it.each(["1790500000000", "2026-09-27T09:06:40Z", "2026-09-27 11:06:40+02"])("an option takes %j as a time", (text) => {
  expect(timeIn("--as-of", text)).toBe(1_790_500_000_000);
});

it.each([
  ["1790500000", "which are seconds: multiply by 1000"],
  ["99999999999999999999", "which is too large"],
  ["2026-09-27T09:06:40", "which has no zone: add Z for UTC"],
  ["Sept 30", 'got "Sept 30"'],
  ["2026-09-27", 'got "2026-09-27"'],
  ["", 'got ""'],
])("an option refuses %j as a time", (text, message) => {
  const refused = () => timeIn("--as-of", text);
  expect(refused).toThrow(UsageError);
  expect(refused).toThrow(/^--as-of: expected milliseconds since 1970, or ISO 8601 with a zone such as 2026-01-31T12:00:00Z, got /);
  expect(refused).toThrow(message);
});
