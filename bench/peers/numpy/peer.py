"""peer.py WORKLOAD INPUTS ANSWER [NUMBER ...]: has the protocol of the program in C, see ../c/peer.c."""

import sys
from time import thread_time

import numpy as np

import gaussian_process
import grid
import product
import ridge

WORKLOADS = {
    "ridge-score": ridge.Scoring,
    "otflinucb-round": ridge.Bandit,
    "product": product.Dense,
    "sparse-product": product.Sparse,
    "gp-append": gaussian_process.Appending,
    "gp-score": gaussian_process.Scoring,
    "late-conversion": gaussian_process.Converting,
    "gp-ucb-sdf-grid": grid.Refitting,
}


def main(name, inputs, answer, *parameters):
    workload = WORKLOADS[name](np.fromfile(inputs), *map(int, parameters))
    np.asarray(workload.answer(), float).tofile(answer)
    print("ready", flush=True)
    for line in sys.stdin:
        # Processor time of this thread. It excludes other work of the machine.
        start = thread_time()
        for _ in range(int(line)):
            workload.run()
        print(f"{thread_time() - start:.9f}", flush=True)


main(*sys.argv[1:])
