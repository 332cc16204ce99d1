"""PGC by all orders of what a run lacks, beside a call for each of 100 drawn ones."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks import inputs, ours
from benchmarks.harness import Contender, Report
from benchmarks.inputs import Case

SHAPES = ((64, 63, 16),)
ORDERS = 100
PER = "(order, query, run)"


def run(
    report: Report, data: Path | None, shapes: Sequence[tuple[int, int, int]]
) -> None:
    """Race on made-up graphs of some (queries, runs, N), then on real ones."""
    for shape in shapes:
        race(report, inputs.cyclic(*shape))
    for case in inputs.real(data, (inputs.CAST, inputs.DL21)):
        race(report, case)


def race(report: Report, case: Case, orders: int = ORDERS) -> None:
    """Race on one case."""
    how = case.graphs, case.rankings, case.p, case.depth
    batch = ours.tie_batch(case.graphs, case.p, case.depth, orders)
    units = orders * case.pairs
    contenders = [
        Contender(
            "order by order",
            partial(ours.order_by_order, *how, orders),
            units,
            values=None,
            note=f"{orders} calls; its means are of drawn orders",
        ),
        Contender("pgcjax", partial(batch.score, case.rankings), units, ours=True),
        Contender(
            "greedy peel, one order",
            partial(ours.scores, *how),
            case.pairs,
            values=None,
            note="compared with nothing",
        ),
    ]
    title = f"PGC by all orders of what a run lacks, {case.title}"
    report.race(title, contenders, per=PER, units=units)
