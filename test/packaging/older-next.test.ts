import { describeFramework, nextIn } from "./framework.ts";

// Its builds are webpack's, and take as long as all other frameworks together.
describeFramework("Next.js 15", nextIn("next15"));
