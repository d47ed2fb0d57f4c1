import * as sdk from "afterclick";
import { decide } from "./decide.js";

test("decides", async () => {
  expect(document.title).toBe("");
  expect(await decide(sdk)).toEqual(JSON.parse(process.env.DECIDED));
});
