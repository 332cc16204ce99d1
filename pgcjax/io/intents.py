"""Intents of queries: files and DataFrames in, a canonical table out."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io import files
from pgcjax.io.bytes import MARK, decode, read_bytes
from pgcjax.io.containers import Named, container_of, split
from pgcjax.io.schema import (
    GENERAL,
    INTENTS,
    Origin,
    Origins,
    expect,
    find_columns,
    keyed,
    numbers,
    refuse_repeats,
    shorten,
)
from pgcjax.later import pd

INF, NAV = INTENT_KINDS = ("inf", "nav")
"""Kinds of intents: informational, and navigational (one document is enough)."""

TOLERANCE = 1e-6
"""Tolerance of the sum of the probabilities of a query, which is 1."""

# Spellings of two kinds in the official topics of the TREC 2011 Web Track.
_MISSPELT = {"inav": NAV, "inv": INF}


def read_intents(source: files.Sources) -> pd.DataFrame:
    """Read the intents of queries, with their probabilities and kinds.

    Args:
        source: Files, folders and globs, plain or compressed, or a table, as in
            `read_runs`, with query_id, intent_id and, if known, probability and kind;
            or TREC topics (XML) with a `subtopic` for each intent.

    Returns:
        Table with query_id, intent_id, probability (float64, sum 1 for each query) and
        kind (`inf` or `nav`). By default the intents of a query are equally probable,
        and all are `inf`, as in TREC topics.

    Raises:
        DataError: a row is malformed, a kind is unknown, an intent occurs twice, or the
            probabilities of a query are negative or do not add up to 1.
    """
    table, origins = files.read_tables(source, "intents", _load, _canonical_intents)
    problem = "intent {intent_id!r} of query {query_id!r} is twice"
    refuse_repeats(table, ["query_id", "intent_id"], problem, origins)
    table["probability"] = _probabilities(table, origins)
    return table


def check_intents(qrels: pd.DataFrame, intents: pd.DataFrame) -> None:
    """Refuse relevant documents of intents that the table of intents does not list.

    Raises:
        DataError: an intent of a grade above 0 is not among the intents of its query.
    """
    keys = ["query_id", "intent_id"]
    relevant = qrels.loc[qrels["relevance"] > 0, [*keys, "doc_id"]]
    listed = pd.MultiIndex.from_frame(intents[keys])
    unknown = relevant[~pd.MultiIndex.from_frame(relevant[keys]).isin(listed)]
    if len(unknown):
        row = unknown.iloc[0]
        ids = intents.loc[intents["query_id"] == row.query_id, "intent_id"].tolist()
        has = f"has {', '.join(ids)}" if ids else "is not there"
        raise DataError(
            f"document {row.doc_id!r} of query {row.query_id!r} is relevant to intent "
            f"{row.intent_id!r}, which is not among the intents: the query {has}",
            where="intent qrels",
            mend="Add the intent to the table of intents, or leave that table out.",
        )


def part_intents(sources: files.Sources) -> dict[str, list[Path]]:
    """Separate files of `intents` from files of `intent_qrels`, which grade documents.

    A file of intents holds TREC topics, or a table without documents.

    Raises:
        DataError: a file cannot be read.
    """
    parts: dict[str, list[Path]] = {}
    for path in files.expand(sources):
        data = read_bytes(path)
        named = _is_xml(data)
        if not named:
            content = split(path, data, container_of(path, data))
            if isinstance(content, Named):
                named = not find_columns(content.frame.columns, ["doc_id"])
        parts.setdefault("intents" if named else "intent_qrels", []).append(path)
    return parts


def _is_xml(data: bytes) -> bool:
    return data.removeprefix(MARK).lstrip().startswith(b"<")


def _load(path: Path) -> Named:
    data = read_bytes(path)
    if _is_xml(data):
        return _topics(path, data)
    header = f"{', '.join(INTENTS)}, or TREC topics in XML"
    return files.with_header(path, data, header)


def _topics(path: Path, data: bytes) -> Named:
    """Read TREC topics: each `subtopic` of a `topic` is an intent."""
    decode(path, data)  # raises an error where data is no text
    rows, places, topic = [], [], [""]
    parser = expat.ParserCreate()

    def number(name: str, attributes: dict[str, Any]) -> str:
        if "number" not in attributes:
            raise DataError(
                f"expected a number of this {name}",
                where=f"{path}:{parser.CurrentLineNumber}",
                mend=f'Write <{name} number="…">.',
            )
        return attributes["number"]

    def start(name: str, attributes: dict[str, Any]) -> None:
        if name == "topic":
            topic[0] = number(name, attributes)
        elif name == "subtopic":
            kind = attributes.get("type", INF)
            kind = _MISSPELT.get(kind, kind)
            rows.append((topic[0], number(name, attributes), kind))
            places.append(parser.CurrentLineNumber)

    parser.StartElementHandler = start
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise DataError(
            f"expected TREC topics in XML: {expat.ErrorString(error.code)}",
            where=f"{path}:{error.lineno}",
            mend="Or give a table with a header.",
        ) from None
    if not rows:
        raise DataError(
            "holds no subtopics", where=str(path), mend="Give TREC diversity topics."
        )
    frame = pd.DataFrame(rows, columns=["query_id", "intent_id", "kind"])
    return Named(frame, Origin(str(path), "line", np.array(places)))


def _canonical_intents(content: Named) -> pd.DataFrame:
    frame, origin = content.frame, content.origin
    table = keyed(frame, origin, INTENTS[:2], optional=INTENTS[2:])
    if "probability" in table:
        values = numbers(table["probability"], "probability", origin)
        expected, mend = (
            "a probability of 0 or more",
            "The probabilities of a query add up to 1.",
        )
        expect(values >= 0, expected, values, origin, mend, GENERAL)
        table["probability"] = values
    else:
        table["probability"] = np.nan
    if "kind" not in table:
        table["kind"] = INF
    kinds = table["kind"].tolist()
    good = np.array([kind in INTENT_KINDS for kind in kinds])
    mend = f"{INF} is informational, {NAV} is navigational."
    expect(good, f"a kind, {INF} or {NAV}", kinds, origin, mend, shorten)
    table["kind"] = table["kind"].astype("str")
    return table[list(INTENTS)]


def _probabilities(table: pd.DataFrame, origins: Origins) -> np.ndarray:
    """Fill in equal probabilities where a file has none; check that all add up to 1."""
    probability = table["probability"].to_numpy(np.float64, copy=True)
    for query, places in table.groupby("query_id", sort=False).indices.items():
        rows = np.asarray(places)
        lacking = np.isnan(probability[rows])
        if lacking.all():
            probability[rows] = 1 / len(rows)
        elif lacking.any():
            i = int(rows[lacking.argmax()])
            raise DataError(
                f"query {query!r} has probabilities for some intents only: none for "
                f"{table.intent_id[i]!r}",
                where=origins.at(i),
                mend="Give all or none.",
            )
        total = probability[rows].sum()
        if abs(total - 1) > TOLERANCE:
            raise DataError(
                f"expected probabilities of query {query!r} that add up to 1, found "
                f"{total:.9g} over {len(rows)} intents",
                where=origins.at(int(rows[-1])),
                mend="Divide them by their sum.",
            )
    return probability
