export { app as default } from "./app.ts";
export { Learner } from "./learner.ts";
