import { encoder, Model, otfLinUcb, Recommender } from "afterclick";
import { decide } from "./decide.js";

globalThis.decided = decide({ encoder, Model, otfLinUcb, Recommender });
