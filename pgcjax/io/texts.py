"""Texts of queries and documents, by id, for people and programs that judge.

A corpus may be larger than memory: files are read in pieces, and only the requested
texts are kept.
"""

from __future__ import annotations

import html
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pgcjax.errors import (
    DataError,
    DataWarning,
    Progress,
    UsageError,
    counted,
    listed,
    outside,
    printable,
)
from pgcjax.io import files, irds
from pgcjax.io.bytes import decode, read_bytes, text_pieces
from pgcjax.io.containers import json_lines, unpacked_name, unquote
from pgcjax.io.in_memory import in_hand, is_frame, no_table
from pgcjax.io.remote import is_remote
from pgcjax.io.schema import Origin, are_ids, find_columns, found_columns, shorten
from pgcjax.later import pd

Record = tuple[Mapping[Any, Any], str]
"""An id and its text, by column name, and their place in the source."""
Lines = Iterator[tuple[int, str]]
"""Lines with their numbers."""

_PIECE = 2**22  # bytes that are read at once
_DOCUMENTS = "doc_id", "other_doc_id"


@dataclass(frozen=True)
class TextKind:
    """Kind of the texts that a file holds.

    Attributes:
        noun: Noun for the thing that a text belongs to.
        key: Name of the column of ids.
        aliases: Other names of the columns of ids, texts and titles.
        forms: Readable forms of files, for messages.
    """

    noun: str
    key: str
    aliases: Mapping[str, tuple[str, ...]]
    forms: str

    def columns(self, names: Iterable[Any], where: str = "") -> dict[str, Any]:
        """Find the columns of ids, texts and titles; errors name the place `where`.

        Raises:
            DataError: there is no column of ids or of texts, or there are two.
        """
        names = list(names)
        columns = find_columns(names, self.aliases, self.aliases)
        if "title" in columns:
            columns.setdefault("text", columns["title"])
        missing = [c for c in (self.key, "text") if c not in columns]
        twice = [c for c in columns.values() if names.count(c) > 1]
        if where and (missing or twice):
            problem = f"missing columns {missing}" if missing else f"two {twice[0]!r}"
            problem += f" ({found_columns(names)})"
            raise DataError(problem, where=where, mend=f"Needed: {self.key}, text.")
        return columns


_TOPICS = TextKind(
    "query",
    "query_id",
    {
        "query_id": ("_id", "qid", "q_id", "queryid", "topic_id", "topic", "num", "id"),
        "text": ("query", "title", "question"),
    },
    "TREC topics, lines of id<TAB>query, or JSON objects in lines",
)
_TEXTS = TextKind(
    "document",
    "doc_id",
    {
        "doc_id": ("_id", "docno", "docid", "did", "pid", "id"),
        "text": ("contents", "body", "passage", "abstract"),
        "title": (),
    },
    "lines of id<TAB>text, JSON objects in lines, or a folder of files DOCID.txt",
)


def read_topics(
    source: Any, *, only: Iterable[str] | None = None, progress: Progress | None = None
) -> dict[str, str]:
    """Read the texts of queries, by query id.

    Args:
        source: Files, folders and globs, plain or compressed, local or remote: TREC
            topics (SGML, with or without closing tags, or XML); lines
            `id<TAB>query`, or TSV with a header; JSON lines, as `queries.jsonl` of
            BEIR; `irds:NAME` of ir_datasets. Or a table, as in `read_runs`; a mapping
            of ids to texts; or a function of an id, which requires `only`.
        only: Ids to read; by default all.
        progress: Called with the number of bytes of a file that have been read.

    Returns:
        Text of each query that has one. The text of a topic is its title, or the field
        in place of it: `query`, `question`, `desc`.

    Raises:
        DataError: a file is malformed or has none of these forms, a query has two
            texts, or no requested query has one. If some lack one, a DataWarning says
            so.
    """
    return _read(source, _TOPICS, only, progress)


def read_texts(
    source: Any, *, only: Iterable[str] | None = None, progress: Progress | None = None
) -> dict[str, str]:
    """Read the texts of documents, by document id; only requested ones are kept.

    Args:
        source: Files, folders and globs, plain or compressed, local or remote: lines
            `id<TAB>text`, or TSV with a header; JSON lines, as `corpus.jsonl` of BEIR;
            a folder of files `DOCID.txt`; or `irds:NAME` of ir_datasets. Or a table, as
            in `read_runs`; a mapping of ids to texts; or a function of an id, which
            requires `only`.
        only: Ids to read; by default all.
        progress: Called with the number of bytes of a file that have been read.

    Returns:
        Text of each document that has one. A title is the first line of its text.

    Raises:
        DataError: a file is malformed or has none of these forms, a document has two
            texts, or no requested document has one. If some lack one, a DataWarning
            says so.
    """
    return _read(source, _TEXTS, only, progress)


def with_texts(
    table: pd.DataFrame, topics: Any, texts: Any, progress: Progress | None = None
) -> pd.DataFrame:
    """Put texts beside the ids of a table: query_text, doc_text, other_doc_text.

    Args:
        table: Table with some of the columns query_id, doc_id and other_doc_id.
        topics: Source for `read_topics`; None for no texts of queries.
        texts: Source for `read_texts`; None for no texts of documents.
        progress: As in `read_texts`.
    """
    names = [name for name in ("query_id", "doc_id", "other_doc_id") if name in table]
    queries, *docs = (table.get(name, ()) for name in ("query_id", *_DOCUMENTS))
    by_id = texts_by_id(topics, texts, queries, chain(*docs), progress)
    for name in names if len(table) else []:
        if name in by_id:
            column = [by_id[name].get(each, "") for each in table[name]]
            table = table.assign(**{name.replace("_id", "_text"): column})
    return table


def texts_by_id(
    topics: Any,
    texts: Any,
    queries: Iterable[str],
    documents: Iterable[str],
    progress: Progress | None = None,
) -> dict[str, dict[str, str]]:
    """Read the texts of some queries and documents.

    Returns:
        Texts by id, for each column of ids (query_id, doc_id, other_doc_id) whose
        source is given.
    """
    by_id: dict[str, dict[str, str]] = {}
    if topics is not None:
        by_id["query_id"] = read_topics(topics, only=queries, progress=progress)
    if texts is not None:
        saying = read_texts(texts, only=documents, progress=progress)
        by_id |= dict.fromkeys(_DOCUMENTS, saying)
    return by_id


def short(text: str, width: int = 80) -> str:
    """Put a text on one line of at most `width` characters, all printable."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def _read(
    source: Any, kind: TextKind, only: Iterable[str] | None, progress: Progress | None
) -> dict[str, str]:
    wanted = None if only is None else {*only}
    texts: dict[str, str] = {}
    if wanted is not None and not wanted:
        return texts
    columns: dict[tuple[str, ...], dict[str, Any]] = {}
    for record, where in _records(source, kind, wanted, progress):
        if (names := tuple(record)) not in columns:
            columns[names] = kind.columns(names, where)
        of = columns[names]
        key, text = record[of[kind.key]], record[of["text"]]
        key = str(key) if type(key) is int else key
        if wanted is not None and isinstance(key, str) and key not in wanted:
            continue
        problem, mend = "", "Ids are whole numbers, or text without blanks at its ends."
        title = record[of["title"]] if "title" in of else None
        if title and title != text:
            text = f"{title}\n{text or ''}"
        if not isinstance(key, str) or not are_ids([key]):
            problem = f"expected {kind.key}, found {shorten(key)}"
        elif not isinstance(text, str | None):
            problem = f"expected text of {kind.noun} {key!r}, found {shorten(text)}"
            mend = "Put it in quotes."
        elif texts.setdefault(key, text := (text or "").strip()) != text:
            problem, mend = f"{kind.noun} {key!r} has two texts", "Keep one of the two."
        if problem:
            raise DataError(problem, where=where, mend=mend)
    if lacking := sorted((wanted or set()) - {*texts}):
        _tell_lacking(source, kind, lacking, not texts)
    return texts


def _tell_lacking(
    source: Any, kind: TextKind, lacking: list[str], are_all: bool
) -> None:
    """Warn of ids without a text; refuse a source without any requested text."""
    names = [source] if isinstance(source, (str, os.PathLike)) else source
    is_named = isinstance(names, (list, tuple))
    where = listed([*map(str, names)]) if is_named else f"texts of {kind.noun}s"
    problem = f"has no text of {counted(len(lacking), kind.noun)}, {listed(lacking)}"
    if not are_all:
        warnings.warn(f"{where}: {problem}", DataWarning, outside())
        return
    raise DataError(problem, where=where, mend="Is it of another collection?")


def _records(
    source: Any, kind: TextKind, wanted: set[str] | None, progress: Progress | None
) -> Iterator[Record]:
    """Read ids and texts of any source, in any order; texts may be missing."""
    name = f"texts of {kind.noun}s"
    if callable(source) and not isinstance(source, Mapping):
        if wanted is None:
            raise UsageError(f"a function of {kind.key} needs only=: for which ids")
        for key in sorted(wanted):
            with suppress(LookupError):  # as stores of documents raise
                if (text := source(key)) is not None:
                    yield {kind.key: key, "text": text}, f"{name}, {key!r}"
        return
    source = in_hand(source, name)
    if isinstance(source, Mapping):
        for key in (
            source if wanted is None else [k for k in sorted(wanted) if k in source]
        ):
            value = source[key]
            fields = value if isinstance(value, Mapping) else {"text": value}  # BEIR
            yield {kind.key: key, **fields}, f"{name}, {key!r}"
    elif is_frame(source):
        cells = source.astype(object).where(source.notna(), None).to_dict("records")
        for i, record in enumerate(cells):
            yield record, Origin(name).at(i)
    else:
        sources = [source] if isinstance(source, (str, os.PathLike)) else source
        if not isinstance(sources, Iterable) or isinstance(sources, bytes):
            raise no_table(source)
        for name in filter(irds.is_irds, sources):
            for key, text in irds.texts(name, kind.noun, wanted):
                yield {kind.key: key, "text": text}, f"{name}, {key!r}"
        sources = [source for source in sources if not irds.is_irds(source)]
        for path, is_text in chain.from_iterable(_files(x, kind) for x in sources):
            if not is_text:
                yield from _of_file(path, kind, progress)
            elif wanted is None or files.stem(path) in wanted:
                data = read_bytes(path)
                text = decode(path, data) if data.strip() else ""
                yield {kind.key: files.stem(path), "text": text}, str(path)


def _files(source: files.Source, kind: TextKind) -> list[tuple[Path, bool]]:
    """List files, and whether each is one text, with its id as the name of the file."""
    paths = files.expand(source, noun=f"texts of {kind.noun}s")
    name = os.path.expanduser(str(source))
    is_folder = name.endswith("/") if is_remote(source) else Path(name).is_dir()
    are_texts = is_folder and all(unpacked_name(x).endswith(".txt") for x in paths)
    return [(path, are_texts) for path in paths]


def _of_file(path: Path, kind: TextKind, progress: Progress | None) -> Iterator[Record]:
    """Read a file of any form; its first line shows the form."""
    lines = _lines(path, kind, progress)
    number, first = next(
        ((i, x) for i, x in lines if x.strip() and (x[0] != "#" or "\t" in x)), (0, "")
    )
    start, rest = first.lstrip(), chain([(number, first)], lines)
    if not start:
        raise DataError("is empty", where=str(path), mend=f"Expected {kind.forms}.")
    if start[0] == "<" and kind is _TOPICS:
        yield from _topics(path, "\n" * (number - 1) + "\n".join(x for _, x in rest))
    elif start[0] == "{":
        for number, record in json_lines(path, rest):
            yield record, f"{path}:{number}"
    elif "\t" in first:
        yield from _tabbed(path, kind, rest)
    else:
        problem = f"expected {kind.forms}, found {shorten(first)}"
        raise DataError(problem, where=f"{path}:{number}", mend="See docs/formats.md.")


def _lines(path: Path, kind: TextKind, progress: Progress | None) -> Lines:
    """Read lines and their numbers."""
    before, size = 0, path.stat().st_size
    for data, done in text_pieces(path, _PIECE):
        try:
            text = data.decode("utf-8" if before else "utf-8-sig")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:  # so that the error names the line of the file
            text = decode(path, b"\n" * before + data)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.removesuffix("\n").split("\n")
        yield from enumerate(lines, before + 1)
        before += len(lines)
        if progress:
            progress(f"texts of {kind.noun}s", done, max(size, done))


def _tabbed(
    path: Path, kind: TextKind, lines: Iterable[tuple[int, str]]
) -> Iterator[Record]:
    """Read lines of an id, a tab and a text; or of the columns of a header."""
    header: list[str] = []
    is_named = False
    for number, line in lines:
        if not line:
            continue
        row, where = line.split("\t"), f"{path}:{number}"
        if not header:
            if is_named := kind.key in kind.columns(row):
                header, _ = row, kind.columns(row, where)
                continue
            header = [kind.key, "text"]
        if len(row) != len(header):
            tabbed = "\t".join(header)
            raise DataError(
                f"expected {tabbed!r}, found {len(row)} fields: {shorten(line)}",
                where=where,
                mend=f"Name more columns in a first line: {kind.key}, title, text, …. "
                "Write texts with tabs or lines as JSONL.",
            )
        cells = map(unquote, row) if is_named else row
        yield dict(zip(header, cells, strict=True)), where


# Comments, and tags within a field; any other tag ends the field before it.
_NO_FIELD = re.compile(
    r"<!--.*?-->|</?(?:[abiup]|em|strong|su[bp]|br|span)(?:\s[^<>]*)?/?>",
    re.DOTALL | re.IGNORECASE,
)
_FIELD = re.compile(r"<([a-z][\w.:-]*)[^<>]*>(.*?)(?=</?[a-z]|\Z)", re.DOTALL | re.I)
_NUMBER = re.compile(r"""\b(?:number|num|id|qid)\s*=\s*["']([^"']*)["']""", re.I)
# Labels at the beginning of fields of early tracks: <num> Number: 301, <title> Topic: …
_LABELS = {"num": "number:", "title": "topic:", "desc": "description:"}
_UNITS = ("top", "topic")
_IDS = ("num", "number", "id")
_ASKED = ("title", "query", "question", "desc", "description", "")


def _topics(path: Path, text: str) -> Iterator[Record]:
    """Read topics of TREC."""
    text = _NO_FIELD.sub(lambda match: " " + "\n" * match[0].count("\n"), text)
    names = {name.lower() for name in re.findall(r"<([a-z][\w.:-]*)", text, re.I)}
    unit = next((name for name in _UNITS if name in names), None)
    if unit is None:
        problem = "holds no topics: <top> or <topic>"
        raise DataError(problem, where=str(path), mend=f"Expected {_TOPICS.forms}.")
    begin = rf"<{unit}(?![\w.:-])"
    pattern = rf"{begin}([^<>]*)>(.*?)(</{unit}\s*>|(?={begin})|\Z)"
    topics = [*re.finditer(pattern, text, re.DOTALL | re.IGNORECASE)]
    are_closed = any(topic[3] for topic in topics)
    for topic in topics:
        where = f"{path}:{text.count(chr(10), 0, topic.start()) + 1}"
        number = _NUMBER.search(topic[1])
        fields = {"num": _plain(number[1])} if number else {}
        fields[""] = _plain(topic[2].partition("<")[0])
        for field in _FIELD.finditer(topic[2]):
            name = field[1].lower()
            fields.setdefault(name, _plain(field[2], _LABELS.get(name, "")))
        number = next((fields[name] for name in _IDS if fields.get(name)), "")
        asked = next((fields[name] for name in _ASKED if fields.get(name)), "")
        is_whole = topic[3] or not are_closed
        parts = {"a number": number, "a title": asked, f"</{unit}>": is_whole}
        if missing := [noun for noun, part in parts.items() if not part]:
            problem = f"expected {' and '.join(missing)} of this topic"
            mend = "Such as <top> <num> 301 <title> organized crime </top>."
            raise DataError(problem, where=where, mend=mend)
        yield {"query_id": number, "text": asked}, where


def _plain(text: str, label: str = "") -> str:
    """Return the text of a field on one line, without the label of early tracks."""
    text = text.replace("<![CDATA[", "").replace("]]>", "")
    text = " ".join(html.unescape(text).split())
    is_labelled = label and text.lower().startswith(label)
    return text[len(label) :].strip() if is_labelled else text
