"""What is asked: measures and judgments, read and laid out as graphs."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import UsageError
from pgcjax.measures.catalogue import parse_all
from pgcjax.measures.spec import Measure
from pgcjax.tables.judged import Judged
from pgcjax.tables.judgments import KINDS, by_kind, read_judgments
from pgcjax.tables.order import ORDERS
from pgcjax.tensors.judgments import Judgments, Tensors


@dataclass(frozen=True)
class Asked:
    """Measures, and all that they need but runs.

    Attributes:
        measures: as they were asked for.
        tables: canonical judgments, by kind.
        tensors: of each measure.
        judged: all documents that any measure needs.
        order: of documents in a run.
    """

    measures: list[Measure]
    tables: dict[str, pd.DataFrame]
    tensors: list[Tensors]
    judged: Judged
    order: str


def ask(
    sources: Mapping[str, Any],
    measures: str | Iterable[str] | None,
    order: str,
    *,
    grids: bool = False,
) -> Asked:
    """Read judgments for some measures.

    Args:
        sources: judgments by the names of `tables.judgments.KINDS`; None is nothing.
        measures: as of `evaluate`.
        order: of documents in a run.
        grids: whether runs are image grids.

    Raises:
        DataError: judgments cannot be read. UsageError: a measure lacks judgments, or
            an argument is wrong.
    """
    if order not in ORDERS:
        raise UsageError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
    sources = by_kind(sources)
    given = set(sources)
    chosen = parse_all(_defaults(given) if measures is None else measures)
    _check_needs(chosen, given | {"grids"} if grids else given)
    tables = read_judgments(sources)
    judgments = Judgments(tables)

    def laid_out(measure: Measure) -> Tensors:
        return measure.definition.tensors(measure.parameters, judgments)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tensors = list(pool.map(laid_out, chosen))
    return Asked(chosen, tables, tensors, Judged(*_documents(tensors)), order)


def _documents(tensors: Sequence[Tensors]) -> list[Mapping[str, np.ndarray]]:
    """Collect the documents that measures need, once where measures share them."""
    return list({id(tensor.docs): tensor.docs for tensor in tensors}.values())


def _defaults(given: set[str]) -> list[str]:
    if "preferences" not in given:
        return ["PGC(graph=derived)", "Compat"]
    return ["PGC", "Compat"] if "qrels" in given else ["PGC"]


def _check_needs(measures: list[Measure], given: set[str]) -> None:
    for measure in measures:
        for need in sorted(measure.definition.needs(measure.parameters) - given):
            raise UsageError(f"{measure} needs {need}: {_how(need)}")
    if not measures:
        raise UsageError("no measure was asked for")


def _how(need: str) -> str:
    if need == "grids":
        return "runs with row and column, and --grids on the command line"
    return f"give {KINDS[need].option} FILE"
