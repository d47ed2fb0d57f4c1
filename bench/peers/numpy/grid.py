"""GP-UCB-SDF (Verma et al. 2022, eq. 5) over a fixed set of points, refitted in every round."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gaussian_process import kernel


class Refitting:
    """Parameters d, k, rounds, window, delay. Inputs: lengthscale, noise variance, beta, k points, their rewards."""

    def __init__(self, inputs, d, k, rounds, window, delay):
        self.lengthscale, self.noise, self.beta = inputs[:3]
        self.points = inputs[3 : 3 + k * d].reshape(k, d)
        self.values = inputs[3 + k * d :]
        self.rounds, self.window, self.delay = rounds, window, delay

    def run(self):
        """Plays all rounds. Each factors the kernel matrix and solves for all points."""
        gram = kernel(self.points, self.points, self.lengthscale)
        chosen, scores, rewards = [], [], np.zeros(self.rounds)
        means, variances = np.zeros(len(gram)), np.ones(len(gram))
        for round_ in range(self.rounds):
            if chosen:
                cross = gram[chosen]
                factor = cho_factor(cross[:, chosen] + self.noise * np.eye(round_), lower=True, check_finite=False)
                solved = cho_solve(factor, cross, check_finite=False)
                means = rewards[:round_] @ solved
                variances = np.maximum(1 - np.einsum("ij,ij->j", cross, solved), 0)
            deviations = np.sqrt(variances)
            nu = self.beta + deviations[chosen[max(round_ - self.window, 0) :]].sum()
            upper = means + nu * deviations
            chosen.append(int(upper.argmax()))
            scores.append(upper[chosen[-1]])
            if round_ >= self.delay:
                rewards[round_ - self.delay] = self.values[chosen[round_ - self.delay]]
        return np.column_stack([chosen, scores])

    def answer(self):
        return self.run()
