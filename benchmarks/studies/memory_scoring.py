"""Score made-up runs: `python -m benchmarks.studies.memory_scoring RUNS QUERIES N`."""

import sys

from benchmarks import inputs, ours

runs, queries, n = map(int, sys.argv[1:])
case = inputs.cyclic(queries, 1, n)
ours.scores(case.graphs, inputs.Drawn(runs, n, keep=False), case.p, case.depth)
