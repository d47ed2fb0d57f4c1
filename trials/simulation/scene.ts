// Constants of all simulations.

export const bindings = {
  AFTERCLICK_SECRET_KEY: "simulated-secret-key",
  AFTERCLICK_PUBLISHABLE_KEY: "simulated-publishable-key",
  AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  AFTERCLICK_TOKEN_KEY: "simulated-token-key",
  AFTERCLICK_JOIN_KEY: "simulated-join-key",
};

export const ACTIONS = [
  { id: "tent", features: [0.5, 0.25] },
  { id: "mug", features: [-0.25, 0.5] },
  { id: "lamp", features: [0.125, -0.5] },
];

/** A catalogue that grows has these next. */
export const LATER_ACTIONS = [
  { id: "stove", features: [0.25, 0.25] },
  { id: "rope", features: [-0.5, -0.125] },
  { id: "boots", features: [0.375, 0] },
];
