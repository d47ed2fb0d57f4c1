import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import readme from "../../README.md?raw";
import { call } from "./client.ts";

const commands = Array.from(readme.matchAll(/^curl [\s\S]*?[^\\]$/gm), ([command]) => command.replaceAll("\\\n", " "));

/** The request of a curl command in the README. */
function parse(command: string) {
  const [, method, path] = /-X (\w+) localhost:8787(\S+)/.exec(command) as RegExpExecArray;
  const [, key] = /Bearer \$(\w+)/.exec(command) as RegExpExecArray;
  const [, body] = /-d '([^']*)'/.exec(command) as RegExpExecArray;
  return { method, path, body, key: env[key as "AFTERCLICK_SECRET_KEY"] as string };
}

it("answers the commands of the README as it says, in order", async () => {
  expect(commands).toHaveLength(3);
  const replies = [];
  for (const { method, path, body, key } of commands.map(parse)) replies.push(await call(method, path, body, { key }));
  expect(replies.map(({ status }) => status)).toEqual([201, 200, 201]);
  expect(["boots", "hat"]).toContain(replies[2].body.actions[0].id);
});
