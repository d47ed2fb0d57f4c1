import * as sdk from "afterclick";
import { decide } from "../../decide.js";

export default defineEventHandler(() => decide(sdk));
