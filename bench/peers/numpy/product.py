"""The product of k vectors and m draws, as a dense and as a sparse matrix."""

import numpy as np
from scipy.sparse import csr_matrix


class Dense:
    """Parameters k, d. Inputs: k vectors, m draws."""

    def __init__(self, inputs, k, d):
        self.vectors = inputs[: k * d].reshape(k, d)
        self.draws = np.ascontiguousarray(inputs[k * d :].reshape(-1, d).T)

    def run(self):
        return self.vectors @ self.draws

    def answer(self):
        return self.run().mean(axis=0)


class Sparse(Dense):
    def __init__(self, *parameters):
        super().__init__(*parameters)
        self.vectors = csr_matrix(self.vectors)
