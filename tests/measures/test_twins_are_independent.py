"""A twin can prove a score wrong: it runs no code that the score was made by."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import jax
import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.engine.grid_batch import Counts
from pgcjax.io.grids import read_grids
from pgcjax.io.judgments import read_judgments
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures import Measure
from pgcjax.measures.catalogue import catalogue, parse
from pgcjax.reference.case import Case
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import GridTensors, ListTensors, PeelTensors

PACKAGE = Path(pgcjax.__file__).parent
ROOT = f"{PACKAGE}{os.sep}"
# What a trained model predicts of grades is no arithmetic of a measure, and neither are
# its parameters: both are shared.
SHARED = {"tensors/judgments.py", "judging/prediction.py", "measures/measure.py"}
SHARED_FUNCTIONS = {"_predictions"}
DOCS, RUN = list("abcdef"), list("cxaefb")
QUERIES = ("q", "r")


def tables() -> dict[str, pd.DataFrame]:
    """Canonical judgments of all kinds, of two queries."""

    def table(columns: str, *rows: tuple) -> pd.DataFrame:
        every = [(query, *row) for query in QUERIES for row in rows]
        return pd.DataFrame(every, columns=["query_id", *columns.split()])

    pairs = [("a", "b", 1, "u"), ("c", "b", -1, "u"), ("a", "b", -1, "v")]
    pairs += [("d", "a", 1, "v"), ("c", "d", 0, "v"), ("e", None, -1, "u")]
    grades = list(zip(DOCS, (3.0, 1, 0, 2, -1, 1), strict=True))
    intents = [(d, i, g) for i in ("1", "2") for d, g in grades[int(i) - 1 :]]
    after = [("a", "c", 2.0), ("e", "a", 3.0), ("b", "a", 0.0), ("d", "b", 1.0)]
    return {
        **read_judgments(
            {
                "preferences": table("doc_id other_doc_id preference judge", *pairs),
                "qrels": table("doc_id relevance", *grades),
                "intent_qrels": table("doc_id intent_id relevance", *intents),
                "intents": table(
                    "intent_id probability kind", ("1", 0.6, "inf"), ("2", 0.4, "nav")
                ),
                "context": table("doc_id previous_doc_id relevance", *after),
            }
        ),
        "grids": read_grids(
            table(
                "run_id doc_id row column",
                *(("run", doc, i // 2, i % 2) for i, doc in enumerate("acb")),
                *(("other", doc, i // 2, i % 2) for i, doc in enumerate("def")),
            )
        ),
    }


def variants() -> Iterator[Measure]:
    """Every measure by default, and with every other word that a parameter may be.

    Of the relatives of graded measures, which have their parameters, nDCG's and ERR's.
    """
    for name, known in catalogue().items():
        cutoff = {"must": "@3", "level": "@0.3"}.get(known.cutoff, "")
        yield parse(name + cutoff)
        if "-" in name and "DCG" not in name and "ERR" not in name:
            continue
        given = []
        for p, _ in known.described().values():
            words = p.allowed or ("true", "false") * isinstance(p.default, bool)
            words += {"context": ("0.5",), "gmax": ("topic", "9")}.get(p.name, ())
            given += [f"({p.name}={word})" for word in words if word != p.default]
            if p.name == "missing":
                given += [f"(context=0.5,missing={word})" for word in p.allowed]
        yield from (parse(name + parameters + cutoff) for parameters in given)
        if known.cutoff == "may":
            yield parse(name + "@2")


def reached(call: Callable[[], None]) -> set[CodeType]:
    """Collect the functions of the package that a call runs."""
    codes: set[CodeType] = set()

    def record(frame, event, argument):  # of calls alone, as it gives nothing back
        if frame.f_code.co_filename.startswith(ROOT):
            codes.add(frame.f_code)

    before = sys.gettrace()
    sys.settrace(record)
    try:
        call()
    finally:
        sys.settrace(before)
    return codes


def score(measure: Measure, judgments: Judgments) -> None:
    """Run all code that makes a score: of the measure, of tensors and of kernels."""
    tensors = measure.prepare(judgments)
    if isinstance(tensors, PeelTensors):
        tensors.finish(np.ones((2, 2), np.int64), np.ones(2, np.int64))
    elif isinstance(tensors, GridTensors) and tensors.pairs is None:
        tensors.finish(np.ones((2, 2), np.int64), np.ones((2, 2), np.int64))
    elif isinstance(tensors, GridTensors):
        by_image, single = np.zeros((2, 2, 3), np.int64), np.zeros((2, 2), np.int64)
        tensors.finish(Counts(*[by_image] * 4, single, single, single, by_image))
    elif isinstance(tensors, ListTensors):
        tensors.weights(8)
        numbers = np.zeros(4, np.int32)
        run = RankedList(numbers, numbers, numbers > 0, numbers * 1.0, numbers[0])
        arrays = jax.tree.map(np.asarray, tensors.arrays["q"])
        with jax.enable_x64(True):
            jax.eval_shape(
                lambda run, arrays: tensors.kernel(measure, run, arrays),
                *(run, arrays),
            )


def records(judgments: Judgments) -> dict[str, list[dict]]:
    """List the judgments of a query, as twins have them."""
    return {
        kind: table[table["query_id"] == "q"].to_dict("records")
        for kind, table in judgments.items()
    }


def recompute(measure: Measure, case: Case) -> None:
    """Run the twin of a measure."""
    assert np.isfinite(measure.twin(case))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_no_function_serves_both_a_score_and_its_twin():
    pytest.importorskip("sklearn", reason="pip install 'pgcjax[context]'")
    made_by: set[CodeType] = set()
    checked_by: dict[CodeType, str] = {}
    canonical = tables()
    with_bad = Judgments(canonical)
    levels = {"doc_level": 1.0, "other_doc_level": 1.0, "subgroups": 1.0}
    compared = canonical["preferences"].dropna(subset="other_doc_id")
    levelled = Judgments({**canonical, "preferences": compared.assign(**levels)})
    cases = {
        needs: (judgments, records(judgments))
        for needs, judgments in ((True, levelled), (False, with_bad))
    }
    for measure in variants():
        judgments, judged = cases["levels" in measure.needs]
        made_by |= reached(lambda m=measure, j=judgments: score(m, j))
        case = Case("run", "q", RUN, measure.parameters, judged, judgments)
        for code in reached(lambda m=measure, c=case: recompute(m, c)):
            checked_by.setdefault(code, str(measure))
    wrong = []
    for code, name in checked_by.items():
        path = Path(code.co_filename).relative_to(PACKAGE)
        if path.parts[0] == "reference" or str(path) in SHARED:
            continue
        if code.co_name in SHARED_FUNCTIONS:
            continue
        if path.parts[0] != "measures" or code in made_by:
            wrong.append(f"the twin of {name} runs {code.co_qualname} of {path}")
    assert not wrong, "\n".join(wrong)
    # The other way round: neither do scores reach twins.
    rooms = {Path(code.co_filename).relative_to(PACKAGE).parts[0] for code in made_by}
    assert {"kernels", "tensors", "measures"} <= rooms and "reference" not in rooms
    assert len(checked_by) > 100
