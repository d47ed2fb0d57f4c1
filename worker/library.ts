// `afterclick/worker`: the parts for mounting afterclick in another worker.
export { type App, app, createApp } from "./edge/app.ts";
export type { Environment } from "./environment.ts";
export { default as handler } from "./index.ts";
export { Learner } from "./learner/learner.ts";
