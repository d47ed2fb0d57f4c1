import { expect, it } from "vitest";
import { describeInEngines, engines } from "../support/engine/engines.ts";

// Most tests of pages run in Chromium. Tests of several engines skip those that are not there.

const isSet = (name: string) => !["", "0"].includes(process.env[name] ?? "");

it.for(engines)("$name is there, for the tests of pages", ({ name, packages, installed }, { skip }) => {
  const missing = `${name} is not installed, so its tests did not run (Debian: apt-get install ${packages})`;
  const required = isSet("REQUIRE_ENGINES") || (name === "Chromium" && (isSet("REQUIRE_CHROMIUM") || isSet("CI")));
  if (!installed && !required) skip(missing);
  expect(installed, missing).toBe(true);
});

const PAGE = `<!doctype html><title>late</title><output></output><script>
  setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<button onclick='add()'>Add</button>"), 200);
  let pressed = 0;
  function add() { document.querySelector("output").textContent = ++pressed + " pressed"; }
</script>`;

describeInEngines((engine) => {
  it("waits for a button, presses it, reads the page and evaluates", async () => {
    const { tab, close } = await engine.launch();
    try {
      await tab.open(`data:text/html,${encodeURIComponent(PAGE)}`);
      await tab.click("button");
      await tab.click("button");
      expect(await tab.text("output")).toBe("2 pressed");
      expect(await tab.attribute("button", "onclick")).toBe("add()");
      expect(await tab.attribute("button", "title")).toBeNull();
      expect([await tab.count("button"), await tab.count("table")]).toEqual([1, 0]);
      expect(await tab.evaluate("Promise.resolve({ title: document.title })")).toEqual({ title: "late" });
      await expect(tab.evaluate("Promise.reject(new Error('no such thing'))")).rejects.toThrow("no such thing");
    } finally {
      await close();
    }
  });
});
