"""Collections of ir_datasets by name: `irds:msmarco-passage/trec-dl-2019`.

Documentation: https://ir-datasets.com/python.html.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from pgcjax.errors import DataError, UsageError

_PREFIX = "irds:"
_PARTS = {"judgment": "qrels", "query": "queries", "document": "docs"}
"""Parts of a collection, as ir_datasets names them."""


def is_irds(source: Any) -> TypeGuard[str]:
    """Return whether a name is one of ir_datasets: it begins with `irds:`."""
    return isinstance(source, str) and source.startswith(_PREFIX)


def qrels(source: Any) -> Any:
    """Return the judgments of a name or a list of names; other sources unchanged.

    Raises:
        UsageError: ir_datasets is not installed, or names and files are mixed.
        DataError: there is no such collection, or it has no judgments.
    """
    names = [source] if isinstance(source, str) else source
    if not isinstance(names, list | tuple) or not any(map(is_irds, names)):
        return source
    if not all(map(is_irds, names)):
        raise UsageError(f"names of ir_datasets ({_PREFIX}…) and files are not mixed")
    return [qrel for name in names for qrel in _load(name, "judgment").qrels_iter()]


def texts(
    source: str, noun: str, wanted: Iterable[str] | None
) -> Iterator[tuple[str, str]]:
    """Read ids and texts of a collection.

    Args:
        source: Name of the collection.
        noun: Owner of the texts: `query` or `document`.
        wanted: Ids of documents; None for all.

    Raises:
        UsageError: ir_datasets is not installed. DataError: the collection is unknown,
            or has no such texts.
    """
    dataset = _load(source, noun)
    if noun == "query":
        for query in dataset.queries_iter():
            yield query.query_id, query.default_text()
        return
    if wanted is None:
        documents = dataset.docs_iter()
    else:
        documents = dataset.docs_store().get_many_iter(sorted(wanted))
    for document in documents:
        yield document.doc_id, document.default_text()


def _load(name: str, noun: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise UsageError(
            f"{name} needs the package ir_datasets: pip install ir_datasets"
        ) from None
    try:
        dataset = ir_datasets.load(name.removeprefix(_PREFIX))
    except KeyError:
        raise DataError(
            "ir_datasets has no such collection",
            where=name,
            mend="https://ir-datasets.com lists the names.",
        ) from None
    if not getattr(dataset, f"has_{_PARTS[noun]}")():
        raise DataError(
            f"has no {_PARTS[noun]}",
            where=name,
            mend="https://ir-datasets.com lists what each collection has.",
        )
    return dataset
