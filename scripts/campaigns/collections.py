"""Random collections: multigraphs of preferences, grades and runs, of awkward ids."""

from dataclasses import dataclass

import numpy as np

from scripts.campaigns.campaign import pick
from scripts.campaigns.independent import Row

IDS = (
    *("NA", "007", "7", "1e5", "nan", "None", "true", "-1", "0.1", "1_0", "=SUM(1)"),
    *("a,b", 'say"x"', '"', "#5", "a#b", "'", "\\N", "\\", "{}", "[1]", "a;b", "%s"),
    *(
        "é",
        "e\u0301",
        "Ω",
        "ﬀ",
        "文書",
        "🦜",
        "a\u00a0b",
        "a\u2028b",
        "a\x1cb",
        "a\x85b",
    ),
    *("x" * 300, "../x", "\u202eabc", "ａ", "３", "A", "a", "ß", "SS", "İ", "i"),
)
"""That any form of file can hold, since they have neither tabs nor ends of lines."""
TABLES = ("csv", "tsv", "jsonl", "parquet", "frame")
"""Forms of preferences that hold ties, bad documents and weights."""
SMALL, LARGE = (1, 1, 1, 2), (1, 1, 1, 2, 7, 1000, 2**20)
BLANKS = ("two words", "a  b", " ".join("long"))
"""That tables can hold, and columns that blanks separate cannot."""


@dataclass
class Collection:
    """Judgments and runs as plain lists, before any file is written.

    Attributes:
        preferences: rows of query, document, other, sign, weight.
        levels: of the same preferences, as rows of query, group, document, level; or
            None where they are no levels.
        grades: of each query and document.
        runs: rows of each run and query.
    """

    preferences: list[tuple[str, str, str | None, int, int]]
    levels: list[tuple[str, str, str, int]] | None
    grades: dict[str, dict[str, float]]
    runs: dict[str, dict[str, list[Row]]]


def collection(
    rng: np.random.Generator, queries: int, form: str, *, blanks: bool
) -> Collection:
    """Make a collection of so many queries that a format of preferences can hold.

    Args:
        rng: random numbers.
        queries: that are judged; another one stands in runs alone.
        form: of preferences, as `forms` names them.
        blanks: whether ids may hold blanks.
    """
    names = IDS + BLANKS * blanks
    if form == "jelsas":  # there NA stands for no document
        names = tuple(name for name in names if name != "NA")
    levels = form == "trec-qrels-prefs"
    heavy = form in TABLES
    # A line of columns that begins with # is a comment: no query does.
    plain = [name for name in names if name[0] not in '#"']
    few = rng.permutation(len(plain))[: min(queries // 4, len(plain))]
    query_ids = [plain[i] for i in few] + [f"q{i}" for i in range(queries - len(few))]
    runs: dict[str, dict[str, list[Row]]] = {
        name: {} for name in ("r", pick(rng, plain), "s")[: int(rng.integers(1, 4))]
    }
    made = Collection([], [] if levels else None, {}, runs)
    for query in query_ids:
        docs = _documents(rng, names)
        known = docs[: max(1, len(docs) - int(rng.integers(3)))]
        if levels:
            _add_levels(rng, made, query, known)
        else:
            rows = _preferences(rng, query, known, LARGE if heavy else SMALL)
            keeps = heavy or form == "jelsas"  # ties, and documents judged bad
            made.preferences += [
                row for row in rows if keeps or (row[3] and row[2] is not None)
            ]
        if rng.random() < 0.9:
            values = pick(rng, ([0, 1], [0, 1, 2, 3], [-2, 0, 0.5, 1e3], [1, 2]))
            made.grades[query] = {
                doc: float(pick(rng, values)) for doc in known if rng.random() < 0.9
            }
            if not made.grades[query]:
                del made.grades[query]
        for run in runs.values():
            if rng.random() < 0.95:
                run[query] = _ranking(rng, docs)
    for run in runs.values():
        run["not judged" if blanks else "not-judged"] = [("d", 1.0, 1.0)]
    return made


def _documents(rng: np.random.Generator, names: tuple[str, ...]) -> list[str]:
    n = int(min(40, 2 + rng.geometric(0.2)))
    odd = rng.permutation(len(names))[: min(len(names), int(rng.integers(n + 1)))]
    docs = [names[i] for i in odd] + [f"d{i}" for i in range(n - len(odd))]
    return [docs[i] for i in rng.permutation(n)]


def _preferences(
    rng: np.random.Generator, query: str, docs: list[str], weights: tuple[int, ...]
) -> list[tuple[str, str, str | None, int, int]]:
    """Draw a graph: random, a cycle, an order with noise, or of two documents."""
    n = len(docs)
    rows: list[tuple[str, str, str | None, int, int]] = []
    if n < 2:
        return [(query, docs[0], None, -1, 1)]
    kind = int(rng.integers(5))
    count = int(rng.integers(1, 1 + min(60, pick(rng, (1, n, 3 * n)))))
    for step in range(n if kind == 0 else count):
        i, j = rng.choice(n, 2, replace=False)
        if kind == 0:
            i, j = step, (step + 1) % n
        elif kind == 1 and rng.random() < 0.9:
            i, j = min(i, j), max(i, j)
        elif kind == 2:
            i, j = i % 2, 1 - i % 2
        weight = int(pick(rng, weights))
        sign = int(pick(rng, (1, 1, -1, 0) if kind == 3 else (1, -1)))
        if kind == 0:
            sign, weight = 1, 1
        rows.append((query, docs[i], docs[j], sign, weight))
    if rng.random() < 0.1:
        rows.append((query, docs[int(rng.integers(n))], None, -1, 1))
    return rows


def _add_levels(
    rng: np.random.Generator, made: Collection, query: str, docs: list[str]
) -> None:
    """Give levels from 1, by which each two documents of a group are compared."""
    assert made.levels is not None
    for group in range(int(rng.integers(1, 3))):
        levels = {doc: int(rng.integers(1, 5)) for doc in docs if rng.random() < 0.8}
        if len(levels) < 2:
            continue
        levels[next(iter(levels))] = 5  # so that the group prefers a document
        made.levels += [(query, f"g{group}", d, x) for d, x in levels.items()]
        above = [(a, b) for a in levels for b in levels if levels[a] > levels[b]]
        made.preferences += [(query, a, b, 1, 1) for a, b in above]


def _ranking(rng: np.random.Generator, docs: list[str]) -> list[Row]:
    """Rank part of the documents and others, with ties, by scores of many sizes."""
    share = pick(rng, (0.3, 0.7, 1.0))
    own = [doc for doc in docs if rng.random() < share]
    own += [f"u{i}" for i in range(int(rng.integers(4)))] or ["u0"]
    own = list(dict.fromkeys(own))
    n = len(own)
    kind = int(rng.integers(5))
    if kind == 0:
        scores = rng.integers(0, 3, n).astype(float)
    elif kind == 1:
        scores = rng.normal(size=n)
    elif kind == 2:  # neighbours in float64, which float32 cannot tell apart
        scores = 1 + rng.integers(0, 4, n) * 2.0**-52
    elif kind == 3:
        scores = rng.choice([0.0, -0.0, 5e-324, -1e300, 1e300, 1e-300], n)
    else:
        scores = -np.arange(n, dtype=float)
    ranks = rng.permutation(n) * int(pick(rng, (1, 1, 3))) + float(rng.integers(2))
    return list(zip(own, scores.tolist(), ranks.tolist(), strict=True))
