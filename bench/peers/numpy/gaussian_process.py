"""Gaussian-process regression with a squared exponential of variance 1. Every point has its own row."""

import numpy as np
from scipy.linalg.blas import dtpsv, dtrsm, dtrsv


def kernel(xs, ys, lengthscale):
    """k(x, y) for every row of xs (n x d) and of ys (k x d): n x k."""
    xs, ys = xs / lengthscale, ys / lengthscale
    squares = np.einsum("ij,ij->i", xs, xs)[:, None] + np.einsum("ij,ij->i", ys, ys) - 2 * (xs @ ys.T)
    return np.exp(-0.5 * np.maximum(squares, 0))


class Process:
    """Parameters d, n, k. Inputs: lengthscale, noise variance, n points, their rewards, k candidates."""

    def __init__(self, inputs, d, n, k):
        self.lengthscale, self.noise = inputs[:2]
        self.points = inputs[2 : 2 + n * d].reshape(n, d)
        self.rewards = inputs[2 + n * d : 2 + n * (d + 1)].copy()
        self.candidates = inputs[2 + n * (d + 1) :].reshape(k, d)
        self.factor = np.asfortranarray(np.linalg.cholesky(kernel(self.points, self.points, self.lengthscale) + self.noise * np.eye(n)))
        self.whitened = dtrsv(self.factor, self.rewards, lower=1)

    def moments(self):
        # The transpose has the memory order of the solver.
        cross = kernel(self.candidates, self.points, self.lengthscale).T
        solved = dtrsm(1.0, self.factor, cross, lower=1, overwrite_b=1)
        return self.whitened @ solved, np.maximum(1 - np.einsum("ij,ij->j", solved, solved), 0)

    def answer(self):
        return np.concatenate(self.moments())


class Scoring(Process):
    def run(self):
        self.moments()


class Converting(Process):
    """Changes the reward of the first row to the next of all rewards."""

    turn = 0

    def run(self):
        self.turn += 1
        self.rewards[0] = self.rewards[self.turn % len(self.rewards)]
        self.whitened = dtrsv(self.factor, self.rewards, lower=1)
        return self.moments()

    def answer(self):
        return np.concatenate(self.run())


class Appending(Process):
    """Appends the points one by one. Each adds a row of L."""

    def run(self):
        n, _ = self.points.shape
        # The rows of L in sequence are the packed columns of its transpose, so the leading block is a view.
        packed = np.empty(n * (n + 1) // 2)
        for i in range(n):
            start = i * (i + 1) // 2
            row = packed[start : start + i]
            if i:
                values = kernel(self.points[:i], self.points[i : i + 1], self.lengthscale)[:, 0]
                row[:] = dtpsv(i, packed[:start], values, lower=0, trans=1, overwrite_x=1)
            packed[start + i] = np.sqrt(1 + self.noise - row @ row)
        return packed

    def answer(self):
        self.factor = np.zeros_like(self.factor)
        self.factor[np.tril_indices(len(self.points))] = self.run()
        self.whitened = dtrsv(self.factor, self.rewards, lower=1)
        return super().answer()
