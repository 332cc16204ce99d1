"""Scores of image grids under the conventions of the papers, and under ours."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pandas as pd

import pgcjax
from pgcjax.reference.image import reading_order
from pgcjax.reference.rbo import rbo
from pgcjax.stats.correlation import correlation
from scripts.reproduction.data import Data
from scripts.reproduction.image_conventions import graded_ideal, second_preferred

ENGINES = ["sogou", "baidu"]
LAMBDA, GAMMA = 0.7, 0.1
STEPS = [i / 10 for i in range(11)]
"""λ and γ of Xie's Figures 4 and 5."""


class Images:
    """Scores of 102 queries and two engines, by measure."""

    def __init__(self, data: Data):
        self.data = data

    def scores(
        self,
        measures: dict[str, str],
        votes: pd.DataFrame | None = None,
        grids: pd.DataFrame | None = None,
    ) -> dict[str, pd.DataFrame]:
        """Score the grids: a table (run_id, query_id, value) for each measure.

        Args:
            measures: by the name that the report gives them.
            votes: those of the data if None.
            grids: likewise.
        """
        found = pgcjax.evaluate(
            self.data.grids if grids is None else grids,
            preferences=self.data.votes if votes is None else votes,
            measures=list(measures.values()),
        )
        # In the order in which they were asked for.
        parts = found.table.groupby("measure", sort=False)
        names = zip(measures, parts, strict=True)
        return {name: part.drop(columns="measure") for name, (_, part) in names}

    @cached_property
    def xie(self) -> dict[str, pd.DataFrame]:
        """PMR, WR, PB and PWP as published: a split vote is one for the left image."""
        split = "split=left"
        variants = {f"PMR_{v}": f"PMR(variant={v},{split})" for v in "DMN"}
        variants["PMR_W"] = f"PMR(variant=W,first_rank=0,{split})"
        return self.scores(
            {
                **{f"PMR_{v}": variants[f"PMR_{v}"] for v in "DWMN"},
                "WR": f"WR({split})",
                "PB": f"PB(gamma={GAMMA},{split})",
                "PWP": f"PWP(lambda={LAMBDA},gamma={GAMMA},{split})",
            }
        )

    @cached_property
    def ours(self) -> dict[str, pd.DataFrame]:
        """The same as pgcjax has them by default: a split vote is a tie."""
        measures = {f"PMR_{v}": f"PMR(variant={v})" for v in "DWMN"}
        return self.scores({**measures, "WR": "WR", "PB": "PB", "PWP": "PWP"})

    @cached_property
    def mixed(self) -> pd.DataFrame:
        """PMR and WR mixed: variant, λ, and the Pearson r of pair scores."""
        names = {
            (v, x): f"PWP(variant={v},lambda={x},gamma=1,split=left"
            + (",first_rank=0)" if v == "W" else ")")
            for v in "DWMN"
            for x in STEPS
        }
        found = self.scores({name: name for name in names.values()})
        rows = [(f"PMR_{v}", x, self.pearson(found[n])) for (v, x), n in names.items()]
        return pd.DataFrame(rows, columns=["variant", "λ", "Pearson r"])

    @cached_property
    def penalised(self) -> pd.DataFrame:
        """PB and PWP by γ: measure, γ, Pearson r; none for PB of γ = 1, all equal."""
        steps = STEPS[1:]
        names = {("PB", x): f"PB(gamma={x},split=left)" for x in steps}
        names |= {("PWP", x): f"PWP(gamma={x},split=left)" for x in steps}
        found = self.scores({name: name for name in names.values()})
        rows = []
        for (measure, gamma), name in names.items():
            flat = found[name]["value"].nunique() == 1
            r = np.nan if flat else self.pearson(found[name])
            rows.append((measure, gamma, r))
        return pd.DataFrame(rows, columns=["measure", "γ", "Pearson r"])

    @cached_property
    def label(self) -> pd.Series:
        """What people prefer: -1 Sogou, 0 neither, 1 Baidu."""
        return -self.data.people.set_index("query_id")["preference"].astype(float)

    def columns(self, scores: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Give the scores of Sogou and of Baidu, query by query."""
        wide = scores.pivot(index="query_id", columns="run_id", values="value")
        wide = wide.loc[self.label.index]
        return wide["sogou"].to_numpy(), wide["baidu"].to_numpy()

    def tau(self, scores: pd.DataFrame) -> float:
        """Correlate the scores of the engines."""
        return correlation(*self.columns(scores))

    def pair_score(self, scores: pd.DataFrame) -> np.ndarray:
        """Give the probability that the second engine is preferred [Xie, eq. 7]."""
        pairs = zip(*self.columns(scores), strict=True)
        return np.array([second_preferred(a, b) for a, b in pairs])

    def pearson(self, scores: pd.DataFrame) -> float:
        """Correlate pair scores with what people prefer."""
        return correlation(self.pair_score(scores), self.label.to_numpy(), "pearson")

    def spearman(self, scores: pd.DataFrame) -> float:
        """Correlate their orders; differences are ordered as pair scores are."""
        first, second = self.columns(scores)
        return correlation(second - first, self.label.to_numpy(), "spearman")

    @cached_property
    def graded(self) -> dict[str, pd.DataFrame]:
        """Graded measures of grids in reading order.

        `own`: the ideal list has the images of one engine, as in Xie et al.; `both`:
        those of both, as Luo's combined NDCG.
        """
        grids, grades = self.data.grids, self.data.image_grades
        discount = "discount=original"
        own = [f"nDCG({discount})@{k}" for k in (10, 15)]
        gains = "gain=linear,gmax=100"
        own += [f"RBP(p={p},{gains})" for p in (0.99, 0.8)]
        parts = []
        for engine in ENGINES:
            shown = grids[grids["run_id"] == engine]
            mine = grades[grades["doc_id"].str.startswith(f"{engine}/")]
            parts.append(pgcjax.evaluate(shown, qrels=mine, measures=own).table)
        table = pd.concat(parts, ignore_index=True)
        names = dict(zip(table["measure"].unique(), _GRADED, strict=True))
        out = {names[str(m)]: part for m, part in _by_measure(table)}
        both = pgcjax.evaluate(
            grids,
            qrels=grades,
            measures=[own[0], "Compat(p=0.95,normalize=false)"],
        )
        out["combined NDCG@10"] = _long(both.matrix(own[0]))
        out["compatibility"] = _long(both.matrix("Compat(p=0.95,normalize=false)"))
        return out

    @cached_property
    def by_sorted_grades(self) -> dict[str, dict[str, pd.DataFrame]]:
        """Compatibility by sort: `number`, or `text`, the bug of Luo's Figure 5.11."""
        return {sort: self._by_sorted_grades(sort) for sort in ("number", "text")}

    def _by_sorted_grades(self, sort: str) -> dict[str, pd.DataFrame]:
        """Compare grids with the ranking by grade: as they are, and at their best."""
        rows = []
        grades = {
            str(query): dict(zip(part["doc_id"], part["relevance"], strict=True))
            for query, part in self.data.image_grades.groupby("query_id")
        }
        for (query, engine), part in self.data.grids.groupby(["query_id", "run_id"]):
            cells = part[["doc_id", "row", "column"]].itertuples(index=False)
            grid = {doc: (row, column) for doc, row, column in cells}
            ideal = graded_ideal(grades[str(query)], sort)
            shown = reading_order(grid)
            best = [doc for doc in ideal if doc in grid]
            rows.append((query, engine, "compatibility", rbo(shown, ideal)))
            rows.append((query, engine, "best possible", rbo(best, ideal)))
        names = ["query_id", "run_id", "measure", "value"]
        table = pd.DataFrame(rows, columns=names)
        return dict(_by_measure(table))


_GRADED = ("NDCG@10", "NDCG@15", "RBP (.99)", "RBP (.8)")


def _by_measure(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for name, part in table.groupby("measure"):
        yield str(name), part.drop(columns="measure")


def _long(wide: pd.DataFrame) -> pd.DataFrame:
    """Lay a matrix of runs and queries out as rows."""
    wide = wide.rename_axis(columns="query_id").reset_index()
    return wide.melt(id_vars="run_id", value_name="value")
