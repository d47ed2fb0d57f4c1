import * as sdk from "/afterclick/browser.js";
import { decide } from "/decide.js";

globalThis.decided = decide(sdk).catch(({ name, code }) => ({ name, code }));
