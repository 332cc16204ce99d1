"""Votes on pairs of images as Xie et al. published them, as canonical preferences."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io import files
from pgcjax.io.containers import Columns
from pgcjax.io.remote import is_remote, path_of
from pgcjax.io.schema import PREFERENCES, Origin, ids, shorten
from pgcjax.later import pd

_NAME = "image_pairs_annotation"
_WIDTH = 5  # query, pair, three votes
_VOTES = {"-2": -2.0, "-1": -1.0, "0": 0.0, "1": 1.0, "2": 2.0}
_DECIMAL = {f"{vote}.0": value for vote, value in _VOTES.items()}
_ALL = {**_VOTES, **_DECIMAL}


def read_xie_votes(
    folder_or_files: files.Sources,
    *,
    drop_decimal: bool = False,
) -> pd.DataFrame:
    """Read the votes of Xie et al. on pairs of images: three on each pair.

    Args:
        folder_or_files: Folder with `image_pairs_annotation`, or files of its form:
            query, `image,image` and three votes, -2 (definitely left) to 2 (definitely
            right), separated by tabs; plain or compressed.
        drop_decimal: Leave out votes written as `1.0` instead of `1`, 252 of the
            124,614 published, as Luo 2021 did for image PGC.

    Returns:
        A row for each vote, in the order of the file: query_id, doc_id (left),
        other_doc_id (right), preference (2, 1: left; 0: a tie; -1, -2: right) and judge
        (`1`, `2` or `3`: the column of the vote, because the file names no judges).
        `attrs["dropped"]` is the number of votes left out.

    Raises:
        DataError: a row is malformed, or compares an image with itself.

    Source: Xie et al. 2020, 5.1.1, and the data set that it names.
    """
    tables = [_read(path, drop_decimal) for path in _paths(folder_or_files)]
    votes = pd.concat(tables, ignore_index=True)
    votes.attrs = {"dropped": sum(table.attrs["dropped"] for table in tables)}
    return votes


def _paths(source: files.Sources) -> list[Path]:
    """List the files; for a folder, the file that holds votes."""
    several = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    expanded = files.expand(several, aloud=False)
    folder = path_of(several[0]).expanduser()
    is_folder = len(expanded) > 1 if is_remote(folder) else folder.is_dir()
    if len(several) != 1 or not is_folder:
        return expanded
    matches = [path for path in expanded if path.name.startswith(_NAME)]
    if len(matches) != 1:
        raise DataError(
            f"expected one file {_NAME} in the folder, found {len(matches)}",
            where=str(folder),
            mend="Name the file itself.",
        )
    return matches


def _read(path: Path, drop_decimal: bool) -> pd.DataFrame:
    content = files.load(path, "tabs")
    assert isinstance(content, Columns)
    rows, places = content.rows, np.asarray(content.origin.places)
    if rows[0][0].lower() == "query" and len(rows[0]) != _WIDTH:
        rows, places = rows[1:], places[1:]
    origin = Origin(str(path), "line", places)
    if not rows:
        raise DataError("holds a header only", where=origin.name, mend="Add rows.")
    for i, row in enumerate(rows):
        if problem := _problem(row):
            raise DataError(
                problem,
                where=origin.at(i),
                mend=f"The layout is that of {_NAME}: "
                "query, image,image and three votes, with tabs between.",
            )
    cells = [(row[0], *row[1].split(",")) for row in rows]
    table = pd.DataFrame(cells, columns=list(PREFERENCES[:3]), dtype="str")
    for name in PREFERENCES[:3]:
        table[name] = ids(table[name], origin)
    judges = [str(n) for n in range(1, _WIDTH - 1)]
    table = table.loc[table.index.repeat(len(judges))].reset_index(drop=True)
    votes = [vote for row in rows for vote in row[2:]]
    # A vote above 0 is for the right image, which is the other document.
    table["preference"] = 0.0 - np.array([_ALL[vote] for vote in votes])
    table["judge"] = pd.Series(judges * len(rows), dtype="str")
    chosen = np.ones(len(votes), bool)
    if drop_decimal:
        chosen = np.array([vote not in _DECIMAL for vote in votes])
        table = table[chosen].reset_index(drop=True)
    table.attrs = {"dropped": int((~chosen).sum())}
    return table


def _problem(row: list[str]) -> str:
    """Describe the error of a row; "" if it has none."""
    images = row[1].split(",") if len(row) == _WIDTH else []
    if len(images) != 2 or any(vote not in _ALL for vote in row[2:]):
        text = shorten(" ".join(row))
        return (
            f"expected query, image,image and votes of -2, -1, 0, 1 or 2, found {text}"
        )
    if images[0] == images[1]:
        return f"image {images[0]!r} is compared with itself"
    return ""
