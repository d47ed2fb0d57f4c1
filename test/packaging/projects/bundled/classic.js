import * as sdk from "afterclick";
import { decide } from "./decide.js";

// A script that importScripts runs in a worker.
globalThis.afterclick = { decide: () => decide(sdk) };
