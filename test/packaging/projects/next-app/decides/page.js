"use client";
import * as sdk from "afterclick";
import { useEffect } from "react";
import { decide } from "../../../decide.js";

export default function Page() {
  useEffect(() => {
    globalThis.decided = decide(sdk);
  }, []);
  return <p>A page decides.</p>;
}
