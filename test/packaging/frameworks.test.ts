import { describeFramework, nextIn } from "./framework.ts";

// Its builds are Turbopack's.
describeFramework("Next.js 16", nextIn("next16", true));
