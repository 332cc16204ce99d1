"""Judgments of every kind: their names and readers."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pgcjax.errors import UsageError
from pgcjax.io.remote import each
from pgcjax.later import pd

if TYPE_CHECKING:
    from pgcjax.io.fast_columns import PlainTable


class Kind(NamedTuple):
    """A kind of judgments: its option on the command line, and the option's help."""

    option: str
    meaning: str


KINDS = {
    "preferences": Kind("--prefs", "Preference judgments."),
    "qrels": Kind("--qrels", "Graded judgments."),
    "intent_qrels": Kind(
        "--intent-qrels", "Graded judgments per intent: query intent doc grade."
    ),
    "intents": Kind(
        "--intent-qrels",
        "Intents: a table of query_id, intent_id, probability, kind; or TREC topics.",
    ),
    "context": Kind(
        "--context",
        "Grades of a document after another: query doc previous-doc grade.",
    ),
}
"""Kinds of judgments by their names as arguments of `evaluate`."""


def by_kind(sources: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out sources that are None, and name qrels with `intent_id` `intent_qrels`.

    Tables in memory become DataFrames.

    Raises:
        UsageError: a kind of judgments is unknown.
    """
    from pgcjax.io.in_memory import in_hand

    given = {}
    for name, source in sources.items():
        if name not in KINDS:
            raise UsageError(f"{name} is none of {', '.join(KINDS)}")
        source = in_hand(source, name)
        if name == "qrels" and "intent_id" in getattr(source, "columns", ()):
            name = "intent_qrels"
        if source is not None:
            given[name] = source
    return given


def read_judgments(sources: Mapping[str, Any]) -> "dict[str, pd.DataFrame]":
    """Read judgments by the names of `KINDS`; see `by_kind`.

    A result of `predict_context` becomes `context`, and the table `predictions`.

    Raises:
        DataError: judgments cannot be read. UsageError: a kind is unknown.
    """
    from pgcjax.io.fast_columns import in_pandas

    return {n: in_pandas(t) for n, t in read_as_they_come(sources).items()}


def read_as_they_come(
    sources: Mapping[str, Any],
) -> "dict[str, pd.DataFrame | PlainTable]":
    """Read judgments as `read_judgments` does; regular qrels without pandas."""
    from pgcjax.io import graded, intents

    def read_preferences(source: Any) -> "pd.DataFrame | PlainTable":
        from pgcjax.io.votes.read import read_preferences_as_they_come  # many rules

        return read_preferences_as_they_come(source)

    readers: dict[str, Callable[[Any], Any]] = {
        "preferences": read_preferences,
        "qrels": graded.read_qrels_as_they_come,
        "intent_qrels": graded.read_intent_qrels,
        "intents": intents.read_intents,
        "context": graded.read_context,
    }
    sources = by_kind(sources)
    read = each(lambda name: readers[name](sources[name]), [*sources])
    tables = dict(zip(sources, read, strict=True))
    if "context" in tables and not hasattr(sources["context"], "columns"):
        predictions = getattr(sources["context"], "predictions", None)
        if predictions is not None:
            tables["predictions"] = predictions
    return tables
