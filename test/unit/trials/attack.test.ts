import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { freshSecrets } from "../../../cli/worker/dev-vars.ts";
import { auth } from "../../../trials/attack/groups/auth.ts";
import {
  type Answer,
  accountOf,
  cheapness,
  onceTaken,
  refusal,
  sameness,
  soundness,
  statusVerdict,
  success,
  unchanged,
  type Verdict,
} from "../../../trials/attack/judge.ts";
import { Scoreboard } from "../../../trials/attack/scoreboard.ts";
import { Stage } from "../../../trials/attack/stage.ts";
import { Target } from "../../../trials/attack/target.ts";

const answer = (status: number, content: unknown, type = status < 400 ? "application/json" : "application/problem+json"): Answer => {
  return { status, type, text: typeof content === "string" ? content : JSON.stringify(content) };
};
const problem = (status: number, fields: object = {}) => answer(status, { status, title: "Not so", detail: "a key is needed", ...fields });
const statuses = (...all: string[]) => answer(202, { conversions: all.map((status) => ({ status })) });

describe("judge", () => {
  it("takes kept promises", () => {
    const held: readonly Verdict[] = [
      ...[refusal(problem(413), 401, 413), success(answer(200, {}), 200), soundness(answer(204, "")), soundness(problem(422))],
      ...[sameness(problem(401), problem(401)), unchanged({ digest: "a" }, { digest: "a" }), cheapness(50, 50)],
      ...[onceTaken(["duplicate", "applied", "duplicate"]), statusVerdict(statuses("applied", "unknown"), "applied", "unknown")],
    ];
    expect(held.filter((verdict) => verdict !== null)).toEqual([]);
  });

  const broke: readonly [string, Verdict, RegExp][] = [
    ["a 200 instead of a 401", refusal(answer(200, { models: [] }), 401), /expected 401, got 200 application\/json \{"models":\[\]\}/],
    ["another refusal", refusal(problem(404), 401), /expected 401, got 404/],
    ["a refusal in HTML", refusal(answer(401, "<p>no</p>", "text/html"), 401), /problem\+json/],
    ["a problem without a detail", refusal(problem(401, { detail: "" }), 401), /status, title and detail/],
    ["a problem with another status", refusal(problem(401, { status: 500 }), 401), /status, title and detail/],
    ["a problem that is no JSON", refusal(answer(401, "{"), 401), /status, title and detail/],
    ["a 500", soundness(problem(500)), /expected a 2xx or a refusal, got 500/],
    ["no answer", soundness({ status: 0, type: "", text: "no answer: terminated" }), /got 0 no answer: terminated/],
    ["a redirect", soundness(answer(302, "")), /got 302/],
    ["a plain 404", soundness(answer(404, "not found", "text/plain")), /problem\+json/],
    ["a success that is no JSON", soundness(answer(200, "{")), /expected JSON/],
    ["a refusal that tells more", sameness(problem(401, { detail: "nearly" }), problem(401)), /the same refusal/],
    ["a changed state", unchanged({ digest: "a" }, { digest: "b" }), /unchanged state, got .*b.* after .*a/],
    ["an event that was taken twice", onceTaken(["applied", "applied"]), /applied 2 times/],
    ["an event that was never taken", onceTaken(["duplicate"]), /applied 0 times/],
    ["an event that was refused", onceTaken(["applied", "unknown"]), /unknown/],
    ["another status", statusVerdict(statuses("applied"), "unknown"), /expected 202 unknown, got 202 .*applied/],
    ["a 401 instead of statuses", statusVerdict(problem(401), "applied"), /got 401/],
    ["an expensive request", cheapness(15_000, 250), /at most 250 ms of CPU time, got 15000 ms/],
  ];
  it.each(broke)("tells %s", (_, verdict, sentence) => expect(verdict).toMatch(sentence));

  it("accounts for each acknowledged reward", () => {
    expect(accountOf(["a", "b"], ["b", "a", "c"])).toEqual({ acknowledged: 2, lost: 0, doubled: 0 });
    expect(accountOf(["a", "b", "c"], ["b", "b"])).toEqual({ acknowledged: 3, lost: 2, doubled: 1 });
  });
});

describe("a group", () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  /** Runs the group of keys against a worker that knows the secret key, except for one request. */
  async function attacked(leak: (request: string, key: string) => boolean) {
    const secrets = freshSecrets();
    const description = await readFile("build/public/page/openapi.json", "utf8");
    const reply = (status: number, type: string, text: string) => ({ status, type: `application/${type}`, text });
    const replyTo = (request: string, key: string) => {
      if (request === "GET /openapi.json") return reply(200, "json", description);
      if (key !== secrets.AFTERCLICK_SECRET_KEY && !leak(request, key)) {
        const status = key === secrets.AFTERCLICK_PUBLISHABLE_KEY ? 403 : 401;
        return reply(status, "problem+json", JSON.stringify({ status, title: "No", detail: "a valid key is needed" }));
      }
      return reply(200, "json", JSON.stringify({ actions: [{ impressionId: "id" }], digest: "d", counts: {}, incidents: {} }));
    };
    server = createServer((request, response) => {
      const key = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
      const { status, type, text } = replyTo(`${request.method} ${request.url}`, key);
      request.resume().once("end", () => response.writeHead(status, { "content-type": type }).end(text));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const target = new Target(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), secrets);
    const board = new Scoreboard();
    const attempts = await auth.prepare(new Stage("auth", { target, board, seed: 1, scale: 1 }));
    for (const attempt of attempts) await attempt();
    return { board, secrets };
  }

  it("holds a worker that keeps its promises", async () => {
    const { board } = await attacked(() => false);
    expect(board.summary()).toMatchObject({ broke: 0, ok: true });
    expect(board.summary().tried).toBeGreaterThan(300);
  });

  it("finds the one route that takes another key", async () => {
    const { board } = await attacked((request, key) => request === "GET /v1/models/auth/snapshot" && key.startsWith("pk_"));
    expect(board.breaches).toEqual([
      expect.stringMatching(/^auth: GET \/v1\/models\/\{model\}\/snapshot with a publishable key: expected 403, got 200/),
    ]);
    expect(board.summary().ok).toBe(false);
    board.account("kills", "rewards", { acknowledged: 5, lost: 1, doubled: 2 });
    expect(board.summary()).toMatchObject({ broke: 2, acknowledged: 5, lost: 1, doubled: 2, ok: false });
    expect(board.breaches[1]).toBe("kills: rewards: expected 5 acknowledged rewards once each, got 1 lost and 2 doubled");
    expect(new Scoreboard().summary().ok).toBe(false);
  });
});
