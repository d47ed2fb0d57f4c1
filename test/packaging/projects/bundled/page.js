import * as sdk from "afterclick";
import { decide } from "./decide.js";

globalThis.decided = decide(sdk);
