"""Scoring under a ridge posterior, and OTFLinUCB on top of it (Vernade et al. 2020, Alg. 1, the released width).

A product with the inverse of V does twice the work of a triangular solve, but OpenBLAS is four times as fast at it.
"""

from math import log, sqrt

import numpy as np


class Scoring:
    """Parameters d, k, n. Inputs: features of n impressions, their rewards, k candidates."""

    def __init__(self, inputs, d, k, n):
        shown = inputs[: n * d].reshape(n, d)
        rewards = inputs[n * d : n * (d + 1)]
        self.inverse = np.linalg.inv(np.eye(d) + shown.T @ shown)
        self.theta = self.inverse @ (rewards @ shown)
        self.candidates = inputs[n * (d + 1) :].reshape(k, d)
        self.products = np.empty((k, d))

    def run(self):
        np.matmul(self.candidates, self.inverse, out=self.products)
        norms = np.sqrt(np.einsum("ij,ij->i", self.products, self.candidates))
        return self.candidates @ self.theta, norms

    def answer(self):
        return np.concatenate(self.run())


class Bandit:
    """Parameters d, k, sets, rewards, window, delay, rounds of the answer. Inputs: candidates by set, rewards in turn."""

    def __init__(self, inputs, d, k, sets, rewards, window, delay, rounds):
        self.candidates = inputs[: sets * k * d].reshape(sets, k, d)
        self.rewards = inputs[sets * k * d :]
        self.window, self.delay, self.rounds = window, delay, rounds
        self.inverse = np.eye(d)
        self.moment = np.zeros(d)
        self.products = np.empty((k, d))
        self.shown = [None] * (window + 1)
        self.widths = [0.0] * (window + 1)
        self.open = 0.0
        self.round = 0

    def run(self):
        self.round += 1
        ring = self.window + 1
        place = self.round % ring
        xs = self.candidates[(self.round - 1) % len(self.candidates)]
        # This round reuses the place of the round whose window has just closed.
        self.open -= self.widths[place]
        np.matmul(xs, self.inverse, out=self.products)
        squares = np.einsum("ij,ij->i", self.products, xs)
        d = len(self.moment)
        alpha = sqrt(2 * log(10) + d * log(1 + self.round / d) + 1) + self.open
        scores = xs @ (self.inverse @ self.moment) + alpha * squares
        index = int(scores.argmax())
        x, step = xs[index], self.products[index]
        self.shown[place] = x
        self.widths[place] = squares[index]
        self.open += squares[index]
        # Sherman-Morrison update of the inverse for V + x x^T.
        self.inverse -= np.outer(step, step / (1 + squares[index]))
        if self.round > self.delay:
            due = self.round - self.delay
            self.moment += self.rewards[(due - 1) % len(self.rewards)] * self.shown[due % ring]
        return index, scores[index]

    def answer(self):
        return np.array([self.run() for _ in range(self.rounds)])
