import { expect, it } from "vitest";
import { Learner } from "../../../worker/learner/learner.ts";
import rpc from "../../../worker/rpc/learner.ts?raw";

it("answers the calls of its interface, and no others", () => {
  const declared = Array.from(rpc.matchAll(/^ {2}(\w+)\(/gm), ([, name]) => name);
  expect(declared.length).toBeGreaterThan(30);
  const answered = Object.getOwnPropertyNames(Learner.prototype).filter((name) => !["constructor", "alarm"].includes(name));
  expect(answered.sort()).toEqual(declared.sort());
});
