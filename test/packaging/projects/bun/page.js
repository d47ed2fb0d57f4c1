import core from "afterclick/core.wasm";
import * as sdk from "afterclick/slim";
import { decide } from "./decide.js";

const module = await WebAssembly.compileStreaming(fetch(core));
globalThis.decided = decide(sdk, module);
