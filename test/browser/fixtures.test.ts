import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { generations, kindsOf, readJson } from "../fixtures/files.ts";
import { goOnInPage, type Kept, openPage, type ShopPage } from "../fixtures/page.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";

// A page of today reads the IndexedDB of pages of earlier versions.

const newest = generations[generations.length - 1];
const kinds = kindsOf(newest);

it("are kept of every kind of model, by every generation", () => {
  for (const generation of generations) {
    for (const kind of kindsOf(generation)) expect(Object.keys(readJson(generation, kind, "page.json").kept)).not.toEqual([]);
  }
});

describeInChromium("in Chromium", () => {
  let browser: Browser;
  let page: ShopPage;
  beforeAll(async () => {
    browser = await launchChromium();
    // Each model has its own database.
    const kept: Kept = Object.assign({}, ...kinds.map((kind) => readJson(newest, kind, "page.json").kept));
    page = await openPage(browser, { kept, answers: true });
  });
  afterAll(() => browser?.close());

  it.each(kinds)("OwnModel, PublishedModel: go on from what a page has kept, %s", async (kind) => {
    const { shown, answers } = readJson(newest, kind, "page.json");
    // A later version may state more of an impression, such as its place.
    expect(await goOnInPage(page, kind, shown, kind === "local")).toMatchObject(answers);
  });
});
