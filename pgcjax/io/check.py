"""Counts of the content of runs and judgments."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import numpy as np
import polars as pl

from pgcjax.errors import DataError, counted
from pgcjax.io.votes.double import FLIPPED, KINDS, double_votes
from pgcjax.later import pd

_ROWS = 2**16  # rows whose text is hashed at once


def summarise_runs(runs: pd.DataFrame) -> list[str]:
    """Describe a runs table: sizes, depths, score ties, missing ranks."""
    groups = runs.groupby(["run_id", "query_id"], sort=False)
    depth = groups.size()
    tied = int((groups["score"].nunique() < depth).sum())
    lines = [
        f"{counted(runs.run_id.nunique(), 'run')}, "
        f"{counted(runs.query_id.nunique(), 'query')}, {counted(len(runs), 'row')}; "
        f"{depth.min()}-{depth.max()} documents a query",
        f"score ties in {tied} of {len(depth)} rankings ({tied / len(depth):.0%}): "
        "their order follows --order",
    ]
    per_run = runs.groupby("run_id")["query_id"].nunique()
    few = int((per_run < runs.query_id.nunique()).sum())
    unusable = int(runs["rank"].isna().sum())
    return lines + _notes(
        (few, "run", " without a query that another run has"),
        (unusable, "row", " without a usable rank (--order rank needs one)"),
        _comments(runs),
    )


def summarise_qrels(qrels: pd.DataFrame) -> list[str]:
    """Describe a qrels table: sizes and grades."""
    grades = qrels["relevance"].value_counts().sort_index()
    shown = ", ".join(f"{grade:g}: {count}" for grade, count in grades.head(12).items())
    more = f", and {len(grades) - 12} more grades" if len(grades) > 12 else ""
    lines = [
        f"{counted(qrels.query_id.nunique(), 'query')}, {counted(len(qrels), 'grade')}",
        f"grade: judgments = {shown}{more}",
    ]
    positive = qrels.loc[qrels.relevance > 0, "query_id"].nunique()
    void = qrels.query_id.nunique() - positive
    return lines + _notes(
        (void, "query", " without a grade above 0"),
        (qrels.attrs.get("repeats", 0), "judgment", " repeated, counted once"),
        _comments(qrels),
    )


def summarise_preferences(preferences: pd.DataFrame) -> list[str]:
    """Describe a preferences table: sizes, ties, repeats, conflicts, bad documents."""
    bad = preferences["other_doc_id"].isna()
    ties = preferences["preference"] == 0
    pairs = preferences[~bad & ~ties]
    doc, other = pairs["doc_id"].to_numpy(str), pairs["other_doc_id"].to_numpy(str)
    wins = (pairs["preference"] > 0).to_numpy()
    edges = pd.DataFrame(
        {
            "query_id": pairs["query_id"].to_numpy(str),
            "low": np.where(doc < other, doc, other),
            "high": np.where(doc < other, other, doc),
            "low_wins": np.where(doc < other, wins, ~wins),
        }
    )
    judged = edges.drop_duplicates()
    repeated = len(edges) - len(judged)
    conflicts = int(judged.duplicated(["query_id", "low", "high"]).sum())
    docs = _judged_documents(preferences)
    lines = [
        f"{counted(preferences.query_id.nunique(), 'query')}, "
        f"{counted(len(preferences), 'judgment')} of {counted(len(docs), 'document')}",
        f"{counted(repeated, 'repeated judgment')}, "
        f"{counted(conflicts, 'conflicting pair')}: all count",
    ]
    silent = preferences.attrs.get("silent", 0)
    lines += _notes(
        (int(ties.sum()), "tie", ": no edge"),
        (int(bad.sum()), "bad document", ": no edge"),
        (silent, "query", " without any preference: left out"),
    )
    if "judge" in preferences:
        lines.append(counted(preferences.judge.nunique(), "judge"))
    if "aspect" in preferences and (of := preferences.aspect.nunique()) > 1:
        lines.append(f"{counted(of, 'aspect')}: all count (--aspect takes one)")
    refused = sum(preferences.attrs.get("refused", {}).values())
    return (
        lines
        + _double_votes(preferences)
        + _notes(
            (refused, "vote", " without an answer: left out"),
            _comments(preferences),
        )
    )


def _double_votes(preferences: pd.DataFrame) -> list[str]:
    """Count answers of judges who saw a pair in both orders, if orders are known."""
    votes = double_votes(preferences)
    if votes.empty:
        return []
    kinds = votes["kind"].value_counts()
    parts = [f"{kinds[kind]} {kind}" for kind in KINDS if kind in kinds]
    if n := kinds.get(FLIPPED, 0):
        first = int((votes["to"] == "first").sum())
        parts[-1] += f" ({first} to the one shown first, {n - first} to the second)"
    rule = "all count (--flips)" if len(parts) > 1 else "all agree"
    pairs = counted(len(votes), "pair")
    return [f"{pairs} judged in both orders: {', '.join(parts)}: {rule}"]


def _judged_documents(table: pd.DataFrame) -> pd.DataFrame:
    """List the distinct documents of preferences or qrels: query_id, doc_id."""
    sides = [table[["query_id", "doc_id"]]]
    for other in {"other_doc_id", "previous_doc_id"} & set(table):
        side = table.loc[table[other].notna(), ["query_id", other]]
        sides.append(side.set_axis(["query_id", "doc_id"], axis=1))
    return pd.concat(sides).drop_duplicates()


def _comments(table: pd.DataFrame) -> tuple[int, str, str]:
    count = table.attrs.get("comments", 0)
    return count, "comment line", " (beginning with #) skipped"


def _notes(*notes: tuple[int, str, str]) -> list[str]:
    """Write notes of (number, noun, rest of the sentence), without those of 0."""
    return [f"{counted(count, noun)}{text}" for count, noun, text in notes if count]


def fingerprint(table: pd.DataFrame | pl.DataFrame) -> str:
    """Compute a hash of canonical judgments that ignores the order of their rows.

    The hashed text is sorted lines of cells, with columns ascending by name and tabs,
    which no id has, between them. A missing cell is NUL, a number the integer of its
    bits.
    """
    names = sorted(table.columns)
    cells = pl.DataFrame([_text(table[name]).alias(name) for name in names])
    rows = cells.select(pl.concat_str(names, separator="\t").sort()).to_series()
    digest = sha256("\t".join(names).encode())
    for start in range(0, max(1, len(rows)), _ROWS):  # in parts, to save memory
        digest.update(
            b"\n" + rows[start : start + _ROWS].str.join("\n").item().encode()
        )
    return digest.hexdigest()[:16]


def _text(column: pd.Series | pl.Series) -> pl.Series:
    if not isinstance(column, pl.Series):
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = pl.from_pandas(column)
        else:
            column = pl.Series(column.to_numpy(np.float64))
    if column.dtype.is_numeric():
        values = column.to_numpy() + 0.0  # -0 means the same as 0
        return pl.Series(values.view(np.int64)).cast(pl.String)
    return column.cast(pl.String).fill_null("\0")


def check_common_queries(judged: Iterable[str], run_queries: Iterable[str]) -> None:
    """Refuse judgments and runs that share no query.

    Raises:
        DataError: there is no common query; the message has sample ids of both.
    """
    judged, run_queries = set(judged), set(run_queries)
    if judged & run_queries:
        return

    def sample(ids: set[str]) -> str:
        return ", ".join(map(repr, sorted(ids)[:3])) + (", …" if len(ids) > 3 else "")

    raise DataError(
        "judgments and runs have no query in common: judged are "
        f"{sample(judged)}; runs have {sample(run_queries)}",
        mend="Do both name queries in the same way?",
    )


def summarise_overlap(tables: dict[str, pd.DataFrame]) -> list[str]:
    """Describe the share of judgments that the runs hold; empty without both."""
    if "runs" not in tables:
        return []
    runs, lines = tables["runs"], []
    retrieved = runs[["query_id", "doc_id"]].drop_duplicates()
    for name, table in tables.items():
        if name in ("runs", "grids") or "doc_id" not in table:
            continue
        check_common_queries(table["query_id"], runs["query_id"])
        judged = _judged_documents(table)
        queries = set(judged["query_id"])
        common = len(queries & set(retrieved["query_id"]))
        both = len(judged.merge(retrieved))
        lines.append(
            f"{name} and runs: {counted(common, 'common query')}, of {len(queries)} "
            f"judged and {retrieved['query_id'].nunique()} in runs; {both} of "
            f"{counted(len(judged), 'judged document')} retrieved"
        )
    return lines


def summarise_intents(intents: pd.DataFrame) -> list[str]:
    """Describe a table of intents: their number and kinds."""
    kinds = intents["kind"].value_counts().sort_index()
    shown = ", ".join(f"{kind}: {count}" for kind, count in kinds.items())
    return [
        f"{counted(intents.query_id.nunique(), 'query')}, "
        f"{counted(len(intents), 'intent')}; kind = {shown}"
    ]


def summarise_grids(grids: pd.DataFrame) -> list[str]:
    """Describe a table of grids: their number and sizes."""
    of_grid = grids.groupby(["query_id", "run_id"])
    images, rows = of_grid.size(), of_grid["row"].max() + 1
    return [
        f"{counted(grids.run_id.nunique(), 'system')}, "
        f"{counted(grids.query_id.nunique(), 'query')}, "
        f"{counted(len(images), 'grid')} of {images.min()}-{images.max()} images in "
        f"{rows.min()}-{rows.max()} rows of up to "
        + counted(grids.column.max() + 1, "column")
    ]


SUMMARIES = {
    "preferences": summarise_preferences,
    "qrels": summarise_qrels,
    "intent_qrels": summarise_qrels,
    "intents": summarise_intents,
    "context": summarise_qrels,
    "grids": summarise_grids,
    "runs": summarise_runs,
}
