import { config } from "./log-lines.ts";

// The marks of a shop's log: a uniform policy, and the actions `boots` and `hat`.

export { config };
export const configuration = { type: "mark", seq: 1, mark: "configuration", content: config };
export const actions = {
  type: "mark",
  seq: 2,
  mark: "actions",
  content: {
    size: 2,
    changed: [
      [0, { id: "boots" }],
      [1, { id: "hat" }],
    ],
  },
};
