// The program of `<script src="beacon-script.js" data-url="..." data-key="...">`, for pages without a build step. The page finds its beacon
// as `afterclick`. With `data-consent="required"` nothing is reported before `afterclick.consent(true)`.
import { createBeacon, watchAttributes } from "./index.ts";

const { url = "", key = "", model, consent } = (document.currentScript as HTMLScriptElement).dataset;
const beacon = createBeacon({ url, key, model, consent: consent !== "required" });
watchAttributes(beacon);
Object.assign(globalThis, { afterclick: beacon });
