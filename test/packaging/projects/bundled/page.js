import { encoder, otfLinUcb, Recommender } from "afterclick";
import { decide } from "./decide.js";

globalThis.decided = decide({ encoder, otfLinUcb, Recommender });
