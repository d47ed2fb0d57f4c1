import * as sdk from "afterclick";
import { decide } from "./decide.js";

decide(sdk).then((decided) => console.log(JSON.stringify(decided)));
