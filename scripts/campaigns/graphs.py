"""Random graphs and runs, scored by pgcjax in a random way and independently."""

import warnings
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import pgcjax
from pgcjax.engine import plan
from pgcjax.errors import DataWarning
from pgcjax.io.runs import read_runs
from scripts.campaigns import forms, independent
from scripts.campaigns.campaign import Campaign, pick
from scripts.campaigns.collections import Collection, collection

QUERIES = 2000
OFF = 1e-12
# Few tiles: each is a program to compile, and each kind of cut is one of them.
TILES: tuple[dict[str, Any], ...] = (
    {},
    {"queries": 1, "runs": 4},
    {"queries": 8, "tile": 2**14, "together": 1},
    {"runs": 4, "words": 64, "tile": 1},
    {"rows": 100, "chunk": 2**10},
    {"seconds": 0.0, "chunk": 1},
)
SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
Values = dict[tuple[str, str, str], float]


def attack(
    rng: np.random.Generator, folder: Path, kinds: Counter, queries: int = QUERIES
) -> str | None:
    """Score one collection in one way, and compare every score."""
    run_form = pick(rng, ("trec", "three", *forms.FILES, "frame", "dict"))
    # Tables are as likely as columns: they alone hold ties, weights and bad documents.
    form = pick(
        rng, ("clarke", "luo", "jelsas", "trec-qrels-prefs", *forms.FILES, "frame")
    )
    grade_form = pick(rng, ("trec", *forms.FILES, "frame", "dict"))
    texts = {"trec", "three", "clarke", "luo", "jelsas", "trec-qrels-prefs"}
    blanks = texts.isdisjoint({run_form, form, grade_form})
    made = collection(rng, queries, form, blanks=blanks)
    if run_form == "three":  # files name the runs
        named = {f"three{i}": run for i, run in enumerate(made.runs.values())}
        made.runs = named
    runs = forms.given_runs(made, run_form, folder, rng)
    judgments = {"qrels": forms.given_qrels(made, grade_form, folder, rng)}
    preferences, name = forms.given_preferences(made, form, folder, rng)
    judgments["preferences"] = pgcjax.files.read_preferences(preferences, format=name)
    without = run_form in ("three", "dict")
    order = pick(rng, ("trec", "clarke") if without else ("trec", "clarke", "rank"))
    missing = pick(rng, ("zero", "skip"))
    measures = _measures(rng)
    way = pick(rng, ("whole", "parts", "packed", "memory"))
    tiles = pick(rng, TILES)
    kinds[way] += 1
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", DataWarning)
        stack.enter_context(plan.using(**tiles))
        how = {"measures": [m[0] for m in measures], "order": order, "missing": missing}
        scores = _scored(rng, runs, judgments | how, way, folder)
        expected = _expected(made, measures, order, missing)
        rows = scores.table.itertuples(index=False, name=None)
        values = {(run, query, m): value for run, query, m, value in rows}
        kinds["scores"] += len(values)
        what = f"{run_form}/{form}/{grade_form}, {way}, {tiles}, order={order}"
        if problem := _differs(values, expected):
            return f"{problem} ({what}, missing={missing})"
        if len(made.runs) > 1:
            return _rbo(rng, made, runs, order, kinds)
    return None


def _measures(rng: np.random.Generator) -> list[tuple[str, dict[str, Any]]]:
    """Draw a PGC of each graph, and a Compat, with what they depend on."""
    drawn = []
    for kind in ("real", "derived", "combined", "compat"):
        p = round(
            float(pick(rng, (0.8, 0.95, 0.9, 0.99, 0.5, rng.uniform(0.1, 0.99)))), 4
        )
        depth = int(pick(rng, (1, 2, 5, 10, 100, 1000, 1000, 1000)))
        how: dict[str, Any] = {"kind": kind, "p": p, "depth": depth}
        if kind == "compat":
            how["how"] = bool(rng.integers(2))
            name = f"Compat(p={p},depth={depth},normalize={str(how['how']).lower()})"
        else:
            how["how"] = pick(rng, ("weights", "one-minus-p", "ideal"))
            name = f"PGC(p={p},depth={depth},graph={kind},normalization={how['how']})"
        drawn.append((name, how))
    return [drawn[i] for i in rng.permutation(4)[: int(rng.integers(2, 5))]]


def _scored(
    rng: np.random.Generator, runs: Any, how: dict[str, Any], way: str, folder: Path
):
    if way == "packed":
        own = {kind: how[kind] for kind in ("preferences", "qrels")}
        # Packed for these judgments, for some of them, or for none.
        for kind in [k for k in own if rng.random() < 0.3]:
            del own[kind]
        pgcjax.files.pack(runs, folder / "packed.parquet", **own)
        return pgcjax.evaluate(folder / "packed.parquet", **how)
    if way == "memory":
        return pgcjax.evaluate(
            runs, job=pgcjax.Job(memory=pick(rng, ("64MiB", "1GB"))), **how
        )
    opened = read_runs(runs)
    if way == "whole" or len(opened.units) == 1:
        return pgcjax.evaluate(opened, **how)
    suffix, paths, count = pick(rng, SUFFIXES), [], len(opened.units)
    for i in range(1, count + 1):
        part = pgcjax.evaluate(opened, job=pgcjax.Job(part=(i, count)), **how)
        paths.append(part.save(folder / f"part{i}{suffix}"))
    merged = pgcjax.files.merge(paths)
    return pgcjax.files.read_scores(merged.save(folder / f"all{suffix}"))


def _expected(made: Collection, measures, order: str, missing: str) -> Values:
    """Score all that is judged, by the independent scorer."""
    real = independent.judged_graphs(made.preferences)
    derived = {q: independent.graded_edges(g) for q, g in made.grades.items()}
    values: Values = {}
    ideals: dict = {}
    for run, rankings in made.runs.items():
        lists = {q: independent.ranked(rows, order) for q, rows in rankings.items()}
        for name, how in measures:
            graphs = {"real": real, "combined": real | derived}.get(
                how["kind"], derived
            )
            rest = how["p"], how["depth"], how["how"]
            for query in graphs:
                if query not in lists:
                    if missing == "zero":
                        values[run, query, name] = 0.0
                    continue
                ranking = lists[query]
                grades = made.grades.get(query, {})
                if how["kind"] == "compat":
                    value = independent.compat(grades, ranking, *rest)
                else:
                    key = run, query, how["kind"]
                    if key not in ideals:
                        edges = independent.Edges()
                        vertices: set[str] = set()
                        if how["kind"] != "derived":
                            edges.update(real.get(query, {}))
                            vertices |= {doc for edge in edges for doc in edge}
                        if how["kind"] != "real":
                            edges.update(derived.get(query, {}))
                            vertices |= set(grades)
                        ideals[key] = independent.peeled(edges, vertices, ranking)
                    value = independent.compared(ranking, ideals[key], *rest)
                values[run, query, name] = value
    return values


def _differs(values: dict, expected: dict) -> str | None:
    """Say in which score two tables differ, if they do."""
    if odd := values.keys() ^ expected.keys():
        key = min(odd, key=str)
        whose = "is not expected" if key in values else "is missing"
        return f"{len(odd)} scores too many or few; {key} {whose}"
    off = [key for key in values if not abs(values[key] - expected[key]) <= OFF]
    if not off:
        return None
    worst = max(off, key=lambda key: abs(values[key] - expected[key]))
    gap = f"{values[worst]!r}, expected {expected[worst]!r}"
    return f"{len(off)} of {len(values)} scores are off; {worst} is {gap}"


def _rbo(rng, made: Collection, runs: Any, order: str, kinds: Counter) -> str | None:
    """Compare all pairs of runs by RBO, in one way of a dozen."""
    variant = pick(rng, ("ext", "min", "max", "res"))
    ties = pick(rng, ("w", "a", "b", "broken"))
    p = round(float(rng.uniform(0.1, 0.98)), 3)
    table = pgcjax.rankings.rbo(
        runs, p=p, variant=variant, ties=ties, order=order, missing="skip"
    ).table
    kinds["scores"] += len(table)
    values = {
        (row.run_a, row.run_b, row.query_id): row.value for row in table.itertuples()
    }
    names, expected = sorted(made.runs), {}
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            for query in made.runs[a].keys() & made.runs[b].keys():
                pair = [made.runs[run][query] for run in (a, b)]
                if ties == "broken":
                    x, y = ([[d] for d in independent.ranked(r, order)] for r in pair)
                else:
                    x, y = (independent.tied(rows, order) for rows in pair)
                kind = "a" if ties == "broken" else ties
                expected[a, b, query] = independent.rbo(x, y, p, variant, kind)
    if problem := _differs(values, expected):
        return f"{problem} (RBO {variant}, ties={ties}, p={p}, order={order})"
    return None


GRAPHS = Campaign(
    "graphs", "random graphs beside a second scorer", 500, attack, QUERIES, 600.0
)
