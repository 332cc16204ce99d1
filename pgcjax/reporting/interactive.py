"""A page to explore scores: one HTML file with data and script, which works offline.

`templates/report.html.jinja` is the page; the style and the script in
`templates/report` draw the data that this module embeds.
"""

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import compress

import numpy as np

from pgcjax.errors import printable
from pgcjax.io.remote import path_of
from pgcjax.io.text_tables import LATEX_ESCAPES, LATEX_SPECIAL
from pgcjax.io.texts import short
from pgcjax.io.write import written_beside
from pgcjax.reporting import heat_maps, judge_orders
from pgcjax.reporting.introduction import introduction, meanings
from pgcjax.reporting.judged_queries import JudgedQueries
from pgcjax.reporting.page import (
    Table,
    first_rows,
    ready,
    source,
    table_of,
    template,
)
from pgcjax.reporting.score_findings import Findings
from pgcjax.reporting.score_reasons import Reasons, columns_of
from pgcjax.stats.findings import Comparison

SCRIPTS = ("data", "elements", "address", "exports", "tables", "charts", "graph")
SCRIPTS += ("drawing", "overview", "comparisons", "details", "main")
_COEFFICIENTS = {
    "tau": "Kendall's τ of the orders in which two measures put the runs",
    "tau_ap_b": "τAP: the same, where the top counts more (ties as τAP,b)",
}
_LONG = 20  # most rows of judges on a page
# Limits that keep a page below 20 MB: scores in full, p, and ranks of documents.
_TEXT, _TEXTS = 400, 4_000_000  # characters of one text, and of all texts
_SCORES, _P_VALUES, _BOUNDS, _RANKS = 1_000_000, 2_000_000, 200_000, 4_000_000
_NAMES, _VOTERS = 120, 4_000_000  # characters of a pair's judges, and of all judges


def write(
    findings: Findings,
    path: str | os.PathLike,
    *,
    title: str = "Scores of runs",
    judged: JudgedQueries | None = None,
    reasons: Reasons | None = None,
    topics: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
) -> Path:
    """Write the page completely or not at all.

    Args:
        findings: Result of `score_findings.find`.
        path: An .html file.
        title: Title of the page.
        judged: Result of `judged_queries.read`; without it the page shows no graphs.
        reasons: Result of `score_reasons.explain_scores`, for scores to explain.
        topics: Texts of queries, by query_id.
        texts: Texts of documents, by doc_id; the page shows their beginnings.

    Raises:
        UsageError: `path` has another suffix. DataError: the file cannot be written.
    """
    target = path_of(path)
    ready(target, draws=False)
    from markupsafe import Markup

    page = template("report.html.jinja")
    style = source(page, "report/style.css")
    scripts = (source(page, f"report/{name}.js") for name in SCRIPTS)
    script = Markup("\n").join(scripts)
    means = [comparison.runs["mean"] for comparison in findings.compared.values()]
    order = np.argsort(-means[0].to_numpy(), kind="stable").tolist()
    text = page.render(
        title=title,
        style=style,
        script=script,
        policy=content_policy(style, script),
        findings=findings,
        introduction=introduction(findings, judged.judging if judged else ""),
        meanings=meanings(findings),
        means=[[f"{mean[i]:.4f}" for mean in means] for i in order],
        names=[findings.runs[i] for i in order],
        sections=_sections(judged),
        correlations=_correlations(findings),
        judges=findings.judges and judge_orders.parts(findings.judges, findings.how),
        judges_title=judge_orders.TITLE,
        data=data_of(findings, judged, reasons, topics, texts),
    )
    with written_beside(target) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
    return target


def content_policy(style: str, script: str) -> str:
    """Return a policy that allows only this style and script, by their checksums."""
    style, script = (
        f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
        for text in (style, script)
    )
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _sections(judged: JudgedQueries | None) -> list[tuple[str, list[Any]]]:
    """Return the analyses of judgments as titles, tables and lines."""
    sections = []
    for section in judged.sections if judged else ():
        parts: list[Any] = []
        for part in section.parts:
            parts.append(first_rows(part.frame, part.caption, _LONG))
        why_not = f"Left out, because {section.why_not}." if section.why_not else ""
        sections.append((section.title, [*parts, *section.notes, why_not]))
    return sections


def _correlations(findings: Findings) -> list[Table]:
    """Make the squares of correlations of all pairs of measures."""
    tables = []
    for name, caption in _COEFFICIENTS.items() if len(findings.scores) > 1 else ():
        square = heat_maps.correlation_square(findings.correlations, name)
        square = square.mask(np.eye(len(square), dtype=bool))  # none with itself
        square = square.rename_axis("measure").reset_index()
        tables.append(table_of(square, caption + findings.common))
    return tables


def data_of(
    findings: Findings,
    judged: JudgedQueries | None = None,
    reasons: Reasons | None = None,
    topics: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the data for the script of the page, ready for JSON."""
    count = len(findings.scores)
    size = count * len(findings.runs) * len(findings.queries)
    measures = [
        {
            "name": printable(name),
            "queries": _queries(findings, name),
            "values": packed(_values(findings, name), _float(size)),
            **_tested(comparison, count),
            "judged": _by_judgments(findings, name),
            "found": int(comparison.table["significant"].sum()),
        }
        for name, comparison in findings.compared.items()
    ]
    first = next(iter(findings.compared.values()))
    return {
        "runs": [printable(name) for name in findings.runs],
        "queries": [printable(name) for name in findings.queries],
        "measures": measures,
        "alpha": first.metadata["alpha"],
        "judged": None if judged is None else _graphs(findings, judged),
        "why": None if reasons is None else _why(findings, reasons),
        "topics": _beginnings(topics or {}, findings.queries),
        "texts": _beginnings(texts or {}, documents_shown(judged, reasons)),
        "latex": {"pattern": LATEX_SPECIAL.pattern, "escapes": LATEX_ESCAPES},
    }


def _why(findings: Findings, reasons: Reasons) -> dict[str, Any]:
    """Return explanations of the scores of runs."""
    columns = columns_of(reasons, findings)
    data: dict[str, Any] = {
        "notes": [printable(reasons.notes.get(name, "")) for name in findings.scores],
        "command": printable(reasons.command),
    }
    for name, values in columns.items():
        if name in ("rules", "deciders"):
            data[name] = values
        elif name == "docs":
            data[name] = packed(values, "text")
        elif name in ("values", "score", "best", "gap"):
            data[name] = packed(values, "f8")
        else:
            small = np.max(values, initial=0) < 2**16
            data[name] = packed(values, "u2" if small else "u4")
    return data


def documents_shown(
    judged: JudgedQueries | None, reasons: Reasons | None = None
) -> list[str]:
    """List the documents that a page shows, those of explanations first."""
    docs = [
        doc for one in (reasons.cells if reasons else {}).values() for doc in one.ideal
    ]
    docs += [
        doc for graph in (judged.graphs if judged else ()) for doc in graph.doc_ids
    ]
    return list(dict.fromkeys(docs))


def _beginnings(texts: Mapping[str, str], ids: Sequence[str]) -> dict[str, Any] | None:
    """Return the beginnings of texts by id, as far as there is room."""
    named = [name for name in ids if texts.get(name)]
    lines = [short(texts[name], _TEXT) for name in named]
    room = int(np.searchsorted(np.cumsum([len(line) for line in lines]), _TEXTS))
    if not named:
        return None
    return {"ids": packed(named[:room], "text"), "texts": packed(lines[:room], "text")}


def _queries(findings: Findings, measure: str) -> list[int] | None:
    """List the places of a measure's queries; None if it has all queries."""
    place = {query: i for i, query in enumerate(findings.queries)}
    query_ids = findings.scores[measure].query_ids
    return (
        [place[query] for query in query_ids] if len(query_ids) < len(place) else None
    )


def _values(findings: Findings, measure: str) -> np.ndarray:
    """Lay the scores of a measure out by all queries; NaN for queries it lacks."""
    queries, matrix = _queries(findings, measure), findings.scores[measure]
    if queries is None:
        return matrix.values
    values = np.full((len(findings.runs), len(findings.queries)), np.nan)
    values[:, queries] = matrix.values
    return values


def _by_judgments(findings: Findings, measure: str) -> dict[str, Any] | None:
    """Return intervals, tiers and ranks by replicates of the judgments."""
    table = findings.by_judgments(measure)
    if table is None or findings.uncertainty is None:
        return None
    names = "tier", "rank_low", "rank_high"
    return {
        **{name: packed(table[name], "f8") for name in ("low", "high")},
        **{name: table[name].tolist() for name in names},
        "what": findings.uncertainty.resampling,
    }


def packed(values: Any, kind: str) -> dict[str, str]:
    """Compress numbers, or lines of text, with the bytes grouped by significance."""
    if kind == "text":
        raw = "\n".join(map(printable, values)).encode()
    else:
        array = np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<"))
        size = array.itemsize
        raw = array.reshape(-1).view(np.uint8).reshape(-1, size).T.tobytes()
    return {"kind": kind, "zip": b64encode(compress(raw, 6)).decode()}


def _float(size: int) -> str:
    """Choose float64, or float32 for very many numbers."""
    return "f8" if size <= _SCORES else "f4"


def _tested(comparison: Comparison, measures: int) -> dict[str, Any]:
    """Return means with intervals, and tests of pairs as far as there is room."""
    table, runs = comparison.table, comparison.runs
    pairs = len(table) * measures
    data: dict[str, Any] = {
        name: packed(runs[name], "f8") for name in ("mean", "low", "high")
    }
    letters = [groups.split() if " " in groups else [*groups] for groups in runs.groups]
    few = len({letter for of_run in letters for letter in of_run}) <= 12
    data["groups"] = runs["groups"].tolist() if few else None
    data["notes"] = [printable(note) for note in comparison.notes]
    data["tested"] = comparison.tested
    data["significant"] = packed(np.packbits(table["significant"]), "u1")
    p = table["p_adjusted"].to_numpy()
    data["p"] = packed(p, _float(4 * pairs)) if pairs <= _P_VALUES else None
    about = comparison.metadata
    drawn = about["correction"] == "none" and not about["exact"]
    data["resamples"] = (about["resamples"] or None) if drawn else None
    data["below"] = data["above"] = None
    if pairs <= _BOUNDS:
        below = (table["difference"] - table["low"]).to_numpy()
        above = (table["high"] - table["difference"]).to_numpy()
        data |= {"below": packed(below, "f8"), "above": packed(above, "f8")}
    return data


def _graphs(findings: Findings, judged: JudgedQueries) -> dict[str, Any]:
    """Return graphs of queries, and ranks of the best runs, as many as have room."""
    graphs = judged.graphs
    sizes = [len(graph) for graph in graphs]
    docs = [doc for graph in graphs for doc in graph.doc_ids.tolist()]
    by_grades = not any(len(graph.wins) for graph in graphs)
    voters = [short(names, _NAMES) for names in judged.voters()]
    named = 0 < sum(map(len, voters)) <= _VOTERS
    levels = [
        graph.levels if graph.levels is not None else np.full(len(graph), -1)
        for graph in graphs
    ]
    number = {name: i for i, name in enumerate(findings.runs)}
    mean = next(iter(findings.compared.values())).runs["mean"].to_numpy()
    runs = np.array([number[name] for name in judged.run_ids], np.int64)
    best = np.argsort(-mean[runs], kind="stable")
    best = np.sort(best[: max(1, _RANKS // max(1, sum(sizes)))])
    ranks = [at[best].ravel() for at in judged.ranks]
    flat = np.concatenate([np.zeros(0, np.uint32), *ranks])
    kind = "u2" if flat.max(initial=0) < 2**16 else "u4"
    return {
        "of": "grades" if by_grades else "preferences",
        "sizes": sizes,
        "docs": packed(docs, "text"),
        "edges": packed(judged.edges, "i4"),
        "direct": packed(judged.direct(), "u1"),
        "judges": packed(voters, "text") if named else None,
        "ideal": packed(judged.ideal_ranks(), "u4"),
        "counts": judged.counts(),
        "levels": packed(np.concatenate(levels), "i4") if by_grades else None,
        "parts": packed(judged.parts, "i4"),
        "grades": packed(judged.grades, "f8")
        if np.isfinite(judged.grades).any()
        else None,
        "runs": runs[best].tolist(),
        "all": len(judged.run_ids),
        "ranks": packed(flat, kind),
        "notes": list(judged.notes),
    }
