import { expect, it } from "vitest";
import { callNames } from "../../../worker/learner/calls/call-names.ts";

class Learner {
  alarm() {}
}
class Serving {
  recommend() {}
}
class Sharding {
  alarm() {}
}

it("gives a class the calls of an audience, and refuses a name that it has already", () => {
  expect(callNames(Serving.prototype, Learner.prototype)).toEqual(["recommend"]);
  expect(() => callNames(Sharding.prototype, Learner.prototype)).toThrow("another name for the call alarm");
});
