"""What is asked: measures and judgments, read and laid out as graphs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import UsageError
from pgcjax.measures.catalogue import parse_all
from pgcjax.measures.compatibility import Tensors
from pgcjax.measures.spec import Measure
from pgcjax.tables.order import ORDERS
from pgcjax.tables.preferences import read_preferences
from pgcjax.tables.qrels import read_qrels
from pgcjax.tensors.rankings import Judged


@dataclass(frozen=True)
class Asked:
    """Measures, and all that they need but runs.

    Attributes:
        measures: as they were asked for.
        tables: canonical judgments: `preferences`, `qrels`, or both.
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
    preferences: Any, qrels: Any, measures: str | Iterable[str] | None, order: str
) -> Asked:
    """Read judgments for some measures. Arguments: as of `evaluate`.

    Raises:
        DataError: judgments cannot be read. UsageError: a measure lacks judgments, or
            an argument is wrong.
    """
    if order not in ORDERS:
        raise UsageError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
    chosen = parse_all(_defaults(preferences, qrels) if measures is None else measures)
    _check_needs(chosen, preferences, qrels)
    tables: dict[str, pd.DataFrame] = {}
    if preferences is not None:
        tables["preferences"] = read_preferences(preferences)
    if qrels is not None:
        tables["qrels"] = read_qrels(qrels)
    tensors = [m.definition.tensors(m.parameters, tables) for m in chosen]
    return Asked(chosen, tables, tensors, Judged(_documents(tensors)), order)


def _documents(tensors: Sequence[Tensors]) -> dict[str, np.ndarray]:
    """Collect the documents of each query that any measure needs; ascending."""
    docs: dict[str, list[np.ndarray]] = {}
    for tensor in tensors:
        for name, graph in tensor.graphs.items():
            docs.setdefault(name, []).append(graph.doc_ids)
    return {
        name: parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        for name, parts in docs.items()
    }


def _defaults(preferences: Any, qrels: Any) -> list[str]:
    if preferences is None:
        return ["PGC(graph=derived)", "Compat"]
    return ["PGC"] if qrels is None else ["PGC", "Compat"]


def _check_needs(measures: list[Measure], preferences: Any, qrels: Any) -> None:
    given = {"preferences": preferences, "qrels": qrels}
    for measure in measures:
        for need in sorted(measure.definition.needs(measure.parameters)):
            if given[need] is None:
                option = "--prefs" if need == "preferences" else "--qrels"
                raise UsageError(f"{measure} needs {need}: give {option} FILE")
    if not measures:
        raise UsageError("no measure was asked for")
