import * as sdk from "afterclick";
import { decide } from "./decide.js";

// The development server of Bun does not serve the core.
globalThis.decided = decide(sdk).catch(({ code }) => ({ code }));
