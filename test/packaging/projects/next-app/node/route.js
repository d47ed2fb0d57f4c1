import * as sdk from "afterclick";
import { decide } from "../../../decide.js";

export const dynamic = "force-dynamic";

export const GET = async () => Response.json(await decide(sdk));
