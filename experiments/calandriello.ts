import type { Paper } from "./experiment.ts";

export const paper: Paper = { id: "calandriello", title: "calandriello", experiments: [] };
