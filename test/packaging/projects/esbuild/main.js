import core from "afterclick/linear.wasm";
import * as sdk from "afterclick/slim";
import { decide } from "../decide.js";

const module = WebAssembly.compileStreaming(fetch(new URL(core, import.meta.url)));
globalThis.decided = module.then((compiled) => decide(sdk, compiled));
