"""Sakai 2012: how discriminative and how intuitive measures of diversity are."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pandas as pd

import pgcjax
from pgcjax.reporting import plots
from pgcjax.stats.discrimination import Discrimination
from scripts.reproduction import forms
from scripts.reproduction.chapter import Chapter
from scripts.reproduction.data import Data
from scripts.reproduction.published import Block, papers
from scripts.reproduction.verdicts import Cell

_THEIRS = (
    "graded judgments of 2009 and the 20 runs are given out by the author, and by TREC"
)
FOLDER, _PAPERS_YEAR = "web-diversity", 2009
_PUBLIC = ("collection", "collection-text")
_ELSEWHERE = ("figure-1", "arithmetic", "orders")  # need no data: other chapters
_YEAR, _CUTOFF = 2012, 10
_TESTS = {"2": "bootstrap", "3": "tukey"}
_SETTINGS = {"a": "uniform", "b": "decreasing"}
_LEADING = ["I-rec", "α-nDCG", "D#-nDCG", "DIN#-nDCG", "P+Q#"]
_PARTS = ["D-nDCG", "DIN-nDCG", "P+Q"]
_WITHOUT_PROBABILITIES = {"I-rec": "I-rec", "α-nDCG": "alpha_nDCG", "EfP": "EfP"}
_WITH = (
    ["D-nDCG", "D-Q", "D#-nDCG", "D#-Q"]
    + ["DIN-nDCG", "DIN-Q", "DIN#-nDCG", "DIN#-Q"]
    + ["P+Q", "P+Q#"]
)
# The paper corrects no p, and takes the queries that all measures have.
_AS_SAKAI: dict[str, Any] = {"correction": "none", "missing": "shared"}
_TRIALS = {"bootstrap": [100, 500, 1000], "tukey": [100, 500, 1000, 5000, 10_000]}


class Diversity:
    """Scores of the public runs on topics with a navigational intent."""

    def __init__(self, data: Data):
        self.intents, self.qrels = data.web_intents(_YEAR), data.web_qrels(_YEAR)
        navigational = self.intents.loc[self.intents["kind"] == "nav", "query_id"]
        self.topics = set(navigational)
        runs = data.web_runs(_YEAR)
        self.runs = runs[runs["query_id"].isin(self.topics)]

    @cached_property
    def scores(self) -> dict[str, forms.Tables]:
        """Scores by measure, for each setting of probabilities."""
        qrels = self.qrels[self.qrels["query_id"].isin(self.topics)]
        intents = self.intents[self.intents["query_id"].isin(self.topics)]
        found = {}
        for setting in _SETTINGS.values():
            how = f"(gain=exp,probabilities={setting})@{_CUTOFF}"
            measures = {name: f"{name}{how}" for name in _WITH}
            if setting == "uniform":
                without = _WITHOUT_PROBABILITIES.items()
                measures |= {name: f"{theirs}@{_CUTOFF}" for name, theirs in without}
            found[setting] = forms.scored(
                self.runs, measures, intent_qrels=qrels, intents=intents
            )
        return found

    def tested(
        self, setting: str, measures: Sequence[str], test: str
    ) -> Discrimination:
        """Test all pairs of runs by some measures."""
        return pgcjax.meta.discriminate(
            self.scores[setting], measures, test, **_AS_SAKAI
        )


def chapter(data: Data) -> Chapter:
    """Count what Table 1 counts; ask what Tables 2 to 6 and Figures 7 to 9 ask."""
    out = Chapter("Sakai 2012: diversity")
    paper = papers()["sakai2012"]
    public = [paper[name] for name in _PUBLIC]
    theirs = [b for n, b in paper.items() if n not in (*_PUBLIC, *_ELSEWHERE)]
    if FOLDER in data:
        cells = _collection(paper["collection"], paper["collection-text"], data)
        out.published(cells, "The test collection")
    else:
        out.published([cell for block in public for cell in block.absent(FOLDER)])
    out.text(
        "The paper's runs and its levels of relevance are not public. Below, its "
        "questions are asked of public runs of the Web Track."
    )
    out.published([cell for block in theirs for cell in block.unknown(_THEIRS)])
    if FOLDER in data:
        _forms(out, Diversity(data))
    return out


def _collection(table: Block, text: Block, data: Data) -> list[Cell]:
    """Count topics, intents and documents of 2009, whose grades are public as binary.

    A topic counts if a navigational intent of it has a relevant document.
    """
    key, one = ["query_id", "intent_id"], ["query_id", "doc_id"]
    qrels, intents = data.web_qrels(_PAPERS_YEAR), data.web_intents(_PAPERS_YEAR)
    relevant = qrels[qrels["relevance"] > 0].merge(intents[[*key, "kind"]], on=key)
    navigational = intents.loc[intents["kind"] == "nav", "query_id"].nunique()
    topics = relevant.loc[relevant["kind"] == "nav", "query_id"].unique()
    relevant = relevant[relevant["query_id"].isin(topics)]
    served = relevant[[*key, "kind"]].drop_duplicates()
    kinds = {name: served[served["kind"] == name] for name in ("inf", "nav")}
    found = {name: relevant[relevant["kind"] == name] for name in kinds}
    shape = data.web_kinds(_PAPERS_YEAR)[topics].value_counts()
    each = relevant.groupby(one).size()

    def per_topic(rows: pd.DataFrame) -> list[float]:
        sizes = rows.groupby("query_id").size()
        return [len(rows) / len(topics), sizes.min(), sizes.max()]

    ours = [
        [len(topics)],
        [shape["faceted"], shape["ambiguous"]],
        [len(served)],
        *([len(rows)] for rows in kinds.values()),
        per_topic(served),
        *(per_topic(rows) for rows in kinds.values()),
        [len(relevant)],
        *([len(rows)] for rows in found.values()),
        [len(each)],
        [each.mean(), each.min(), each.max()],
    ]
    why = {
        "topics with a navigational intent": f"of {navigational} such topics, those "
        "where a navigational intent has a relevant document",
        "informational: mean, least, most": "a topic without one counts in the mean",
    }
    slip = f"that is the sum of both kinds, which have {len(found['inf'])} and "
    slip += f"{len(found['nav'])} in Table 1"
    cells = [
        table.cell(row, [*map(float, x)], why=why.get(row, ""))
        for row, x in zip(table.rows, ours, strict=True)
    ]
    first, second = text.rows
    return [
        *cells,
        text.cell(first, len(found["inf"]), why=slip),
        text.cell(second, len(found["nav"])),
    ]


def _forms(out: Chapter, ours: Diversity) -> None:
    runs = ours.runs["run_id"].nunique()
    out.text(
        f"Below: {runs} runs of the Web Track of {_YEAR}, so {runs * (runs - 1) // 2} "
        f"pairs of runs, on the {len(ours.topics)} topics with a navigational intent, "
        f"cutoff {_CUTOFF}, gains 2^grade - 1. Nonuniform probabilities are those of "
        "the paper: of n intents, the jth has 2^(n-j+1) / Σ 2^k."
    )
    for number, test in _TESTS.items():
        for part, setting in _SETTINGS.items():
            out.table(
                _power(ours, setting, test),
                f"The form of Table {number} ({part}): {test}, {_called(setting)}, "
                "α = .05",
            )
    _together(out, ours)
    _right(out, ours)
    _curves(out, ours)


def _called(setting: str) -> str:
    return "uniform" if setting == "uniform" else "nonuniform"


def _power(ours: Diversity, setting: str, test: str) -> pd.DataFrame:
    """Tabulate how many pairs a measure tells apart, and what difference it takes."""
    scores = ours.scores[setting]
    names = [name for name in scores if name != "EfP"]
    found = ours.tested(setting, names, test).table
    table = pd.DataFrame(
        {
            "measure": found["measure"],
            "significant pairs": found["significant"],
            "power, %": 100 * found["power"],
            "required difference": [
                pgcjax.meta.required_difference(scores[name], test=test)
                for name in found["measure"]
            ],
        }
    )
    return table.sort_values("power, %", ascending=False, kind="stable")


def _together(out: Chapter, ours: Diversity) -> None:
    scores = ours.scores["uniform"]
    found = ours.tested("uniform", _LEADING, "tukey").overlaps()
    counts = found[["only_a", "both", "only_b"]].astype(str)
    found["sets"] = counts.agg("/".join, axis=1)
    out.table(
        forms.square(found, "sets", _LEADING),
        "The form of Table 4: pairs significant by the first only / by both / by the "
        "second only; tukey, uniform",
    )
    coefficients = ["tau", "tau_ap_b"]  # symmetric τ_ap, if no runs tie
    order = pgcjax.correlate(scores, _LEADING, coefficients)
    wide = order.pivot(
        index=["measure_a", "measure_b"], columns="coefficient", values="value"
    )
    both = [
        f"{row['tau']:.2f}/{row[coefficients[1]]:.2f}" for _, row in wide.iterrows()
    ]
    out.table(
        forms.square(wide.reset_index().assign(both=both), "both", _LEADING),
        "The form of Table 5: Kendall's τ / symmetric τ_ap (τ_ap,b, as means may tie) "
        "of the orders of runs; uniform",
    )


def _right(out: Chapter, ours: Diversity) -> None:
    """Which of two measures is right where they disagree, by simpler ones?"""
    scores, names = ours.scores["uniform"], _LEADING[1:]
    for part, gold in (("a", ["I-rec"]), ("b", ["EfP"]), ("c", ["I-rec", "EfP"])):
        found = pgcjax.meta.intuitiveness(scores, gold, names)
        found["shares"] = [
            f"{a:.3f}/{b:.3f} ({n})"
            for a, b, n in zip(
                found["intuitiveness_a"],
                found["intuitiveness_b"],
                found["disagreements"],
                strict=True,
            )
        ]
        out.table(
            forms.square(found, "shares", names),
            f"The form of Table 6 ({part}): intuitiveness by {' and '.join(gold)}; "
            "share of the first that is right / of the second (disagreements); uniform",
        )


def _curves(out: Chapter, ours: Diversity) -> None:
    for test, trials in _TRIALS.items():
        parts = []
        for count in trials:
            found = pgcjax.meta.discriminate(
                ours.scores["uniform"],
                ["D#-nDCG"],
                test,
                resamples=count,
                **_AS_SAKAI,
            )
            parts.append(found.pairs.assign(measure=f"B = {count}"))
        both = Discrimination(found.metadata, pairs=pd.concat(parts, ignore_index=True))
        letter = "ab"[list(_TRIALS).index(test)]
        out.picture(
            f"sakai-7-{letter}-form",
            plots.significance_curves(both),
            f"The form of Figure 7 ({letter}): p of all pairs of runs by D#-nDCG, "
            f"{test}, with B resamples; uniform.",
        )
    for number, test in (("8", "bootstrap"), ("9", "tukey")):
        for part, setting in _SETTINGS.items():
            names = [n for n in _LEADING if n in ours.scores[setting]]
            names = names if part == "a" else [*names, *_PARTS]
            out.picture(
                f"sakai-{number}-{part}-form",
                plots.significance_curves(ours.tested(setting, names, test)),
                f"The form of Figure {number} ({part}): p of all pairs of runs by "
                f"measure; {test}, {_called(setting)}. The lower, the more "
                "discriminative.",
            )
