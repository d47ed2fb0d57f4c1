// The marks of a shop's log: a uniform policy, and the actions `boots` and `hat`.

export const config = {
  reward: { min: 0, max: 1 },
  seed: 0,
  goals: null,
  minimumShare: 0,
  window: { ms: 1000 },
  policy: "uniform",
  options: {},
  encoder: { dimension: 16, version: 2 },
};
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
