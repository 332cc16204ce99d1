"""Rankings with ties: random ones, published ones, and as the kernel takes them."""

import csv
import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st

TIES = ("w", "a", "b")
VARIANTS = ("min", "ext", "max", "res")
Groups = list[list[str]]


@st.composite
def rankings(draw, most: int = 12, pool: int = 14) -> Groups:
    """A ranking of up to `most` documents, heavy in ties."""
    docs = [f"d{i:02}" for i in range(pool)]
    chosen = draw(
        st.lists(st.sampled_from(docs), unique=True, min_size=1, max_size=most)
    )
    joined = draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    groups: Groups = []
    for doc, tie in zip(chosen, joined, strict=True):
        if tie and groups:
            groups[-1].append(doc)
        else:
            groups.append([doc])
    return groups


def flat(groups: Groups) -> list[str]:
    return [doc for group in groups for doc in group]


def apart(docs: list[str]) -> Groups:
    return [[doc] for doc in docs]


def published(data: Path) -> list[dict]:
    """Read 10,000 pairs with their 12 values; rankings as groups."""
    path = data / "oracles/rbo/rbo/test.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10_000
    return [
        {"x": parse(row.pop("x")), "y": parse(row.pop("y"))}
        | {name: float(value) for name, value in row.items()}
        for row in rows
    ]


def parse(text: str) -> Groups:
    """Read `(a b) c`: a and b tie."""
    parts = re.findall(r"\([^)]*\)|[^ ()]+", text)
    return [part.strip("()").split() for part in parts]


def laid_out(x: Groups, y: Groups, n: int) -> tuple[np.ndarray, ...]:
    """Lay a pair out: tops, bottoms, length of both; places of x's documents in y."""
    arrays: list[np.ndarray] = []
    for groups in (x, y):
        length = len(flat(groups))
        top, bottom = np.full(n, length + 1, np.int32), np.full(n, length, np.int32)
        first = 0
        for group in groups:
            top[first : first + len(group)] = first + 1
            first += len(group)
            bottom[first - len(group) : first] = first
        arrays += [top, bottom, np.int32(length)]
    place = {doc: i for i, doc in enumerate(flat(y))}
    there = [place.get(doc, n) for doc in flat(x)]
    return *arrays, np.array(there + [n] * (n - len(there)), np.int16)


def collection(seed: int = 0, runs: int = 5, queries: int = 4) -> pd.DataFrame:
    """Runs of different lengths, some with many ties, of which some lack a query.

    The first two have more than 16 documents, so that most tiles have one width.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for r in range(runs):
        for q in range(queries):
            if q and rng.random() < 0.1:
                continue
            docs = rng.permutation(30)[: int(rng.integers(17 if r < 2 else 1, 25))]
            scores = rng.random(len(docs)).round(1 if r % 2 else 9)
            rows += [
                (f"r{r}", f"q{q}", f"d{doc:02}", score, rank)
                for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1)
            ]
    names = ["run_id", "query_id", "doc_id", "score", "rank"]
    return pd.DataFrame(rows, columns=names)
