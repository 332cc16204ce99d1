"""Bradley-Terry strengths of many queries beside choix, evalica and scipy.

choix and evalica are of the extra dev. What is not installed is left out, and said.
"""

import importlib
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from scipy import optimize

import pgcjax
from benchmarks.harness import Contender, Report

PER = "query"
SAMPLED = 20  # queries that others than evalica fit
NEAR = 1e-6  # strengths that differ less are the same


def votes(queries: int, items: int, each: int) -> pd.DataFrame:
    """Make up votes on random pairs, of judges who follow the model."""
    made, shape = np.random.default_rng(11), (queries, each)
    strength = made.normal(0, 0.7, (queries, items))
    a = made.integers(0, items, shape)
    b = (a + made.integers(1, items, shape)) % items
    lead = np.take_along_axis(strength, a, 1) - np.take_along_axis(strength, b, 1)
    won = made.random(shape) < 1 / (1 + np.exp(-lead))
    names = np.array([f"d{i:03d}" for i in range(items)], object)
    return pd.DataFrame(
        {
            "query_id": np.repeat([f"q{i:04d}" for i in range(queries)], each),
            "doc_id": names[a.ravel()],
            "other_doc_id": names[b.ravel()],
            "preference": np.where(won.ravel(), 1.0, -1.0),
        }
    )


def run(report: Report, queries: int = 1000, items: int = 20, each: int = 500) -> None:
    """Race for the most likely strengths, without a prior, from votes in memory."""
    table = votes(queries, items, each)
    truth = _fitted(table).ravel()
    asked = dict(tuple(table.groupby("query_id")))
    some = [asked[name] for name in list(asked)[:: max(1, queries // SAMPLED)]]
    places = np.arange(queries)[:: max(1, queries // SAMPLED)]
    of = (places[:, None] * items + np.arange(items)).ravel()
    rows = [
        Contender(
            "pgcjax.judgments.fit, table and errors included",
            partial(_fitted, table),
            queries,
            ours=True,
            values=np.ravel,
        )
    ]
    ways: dict[str, tuple[str, Callable, bool]] = {
        "evalica (Rust), query by query": ("evalica", _evalica, True),
        "choix, ilsr_pairwise": ("choix", _choix, False),
        "scipy, BFGS": ("scipy", _scipy, False),
    }
    for name, (library, way, whole) in ways.items():
        try:
            module = importlib.import_module(library)
        except ImportError:
            report.say(f"left out: {library} is not installed (pip install {library})")
            continue
        own = list(asked.values()) if whole else some
        prepared = [_prepared(frame, items, library, module) for frame in own]
        at = None if whole else of
        rows.append(
            Contender(
                name,
                partial(_each, way, module, prepared, items),
                len(own),
                values=partial(_snapped, truth if whole else truth[of]),
                of=at,
                note="" if whole else f"{len(own)} of {queries} queries",
            )
        )
    title = f"Bradley-Terry of {queries} queries × {items} documents × {each} votes"
    report.race(title, rows, per=PER, units=queries)


def _fitted(table: pd.DataFrame) -> np.ndarray:
    return pgcjax.judgments.fit(table, prior=np.inf).table["strength"].to_numpy()


def _snapped(truth: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Make strengths that are near ours equal to them: iterations end somewhere."""
    return np.where(np.abs(np.ravel(values) - truth) < NEAR, truth, np.ravel(values))


def _prepared(frame: pd.DataFrame, items: int, library: str, module: object) -> object:
    """Give a query as the library takes it; this is not timed."""
    a, b = (frame[c].str[1:].astype(int).to_numpy() for c in ("doc_id", "other_doc_id"))
    won = (frame["preference"] > 0).to_numpy()
    if library == "evalica":
        winner = module.Winner  # pyright: ignore
        return a.tolist(), b.tolist(), [winner.X if w else winner.Y for w in won]
    if library == "choix":
        return list(zip(*np.where(won, (a, b), (b, a)).tolist(), strict=True))
    table = np.zeros((items, items))
    np.add.at(table, (np.where(won, a, b), np.where(won, b, a)), 1)
    return table


def _each(way: Callable, module: object, prepared: list, items: int) -> np.ndarray:
    return np.concatenate([way(module, own, items) for own in prepared])


def _evalica(module, own, items) -> np.ndarray:
    result = module.bradley_terry(*own, tolerance=1e-12, limit=100_000)
    logs = np.log(result.scores.sort_index().to_numpy())
    return logs - logs.mean()


def _choix(module, own, items) -> np.ndarray:
    return module.ilsr_pairwise(items, own, tol=1e-10)


def _scipy(module, own, items) -> np.ndarray:
    met = own + own.T

    def loss(s):
        p = 1 / (1 + np.exp(s[None, :] - s[:, None]))
        value = (own * np.logaddexp(0, s[None, :] - s[:, None])).sum()
        return value, (met * p - own).sum(axis=1)

    how = {"jac": True, "method": "BFGS", "options": {"gtol": 1e-8}}
    s = optimize.minimize(loss, np.zeros(items), **how).x
    return s - s.mean()
