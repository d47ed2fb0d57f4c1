// The program of `<script src="page-script.js" data-url="..." data-key="...">`, for pages without a build step. The page finds its beacon
// as `afterclick`. With `data-consent="required"` nothing is reported before `afterclick.consent(true)`. Where attributes get lost, the page
// sets the options as `afterclick` before this script runs.
import { type BeaconOptions, createBeacon, watchAttributes } from "./index.ts";

const page = globalThis as { afterclick?: object };
const attributes = (document.currentScript as HTMLScriptElement | null)?.dataset;
const options = { ...page.afterclick, ...attributes } as object as BeaconOptions;
if (options.url && options.key) {
  const beacon = createBeacon(options);
  watchAttributes(beacon);
  page.afterclick = beacon;
} else console.error("afterclick: set data-url and data-key, or first afterclick = { url, key }");
