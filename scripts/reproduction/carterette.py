"""Carterette et al. 2008: measures of preferences beside those of grades."""

from itertools import combinations

import pandas as pd

import pgcjax
from pgcjax.stats.correlation import correlation
from scripts.reproduction import forms
from scripts.reproduction.chapter import Chapter
from scripts.reproduction.data import Data
from scripts.reproduction.published import papers

_THEIRS = "their assessors' judgments and their engines were never published"
_CUTOFF = 10


def chapter(data: Data) -> Chapter:
    """Ask what Table 5 and 5.1 ask, on TREC Deep Learning 2021 and CAsT 2019."""
    out = Chapter("Carterette et al. 2008")
    paper = papers()["carterette2008"]
    out.text(
        "Its judgments were not published. Below, Table 5 and 5.1 are asked of "
        "public runs: preferences are those that the grades imply, as in the paper."
    )
    blocks = [block for name, block in paper.items() if name != "arithmetic"]
    out.published([cell for block in blocks for cell in block.unknown(_THEIRS)])
    for name, title, runs, qrels in (
        ("dl21", "TREC Deep Learning 2021", "dl21_runs", "dl21_qrels"),
        ("cast2019", "CAsT 2019", "cast_runs", "cast_qrels"),
    ):
        if name in data:
            _table_5(out, title, getattr(data, runs), getattr(data, qrels))
    if "dl21" in data and "cast2019" in data:
        _transitivity(out, data)
    return out


def _table_5(out: Chapter, title: str, runs: pd.DataFrame, qrels: pd.DataFrame) -> None:
    measures = {
        "DCG": f"DCG(gain=exp)@{_CUTOFF}",
        "NDCG": f"nDCG(gain=exp)@{_CUTOFF}",
        "ppref": f"ppref(graph=derived)@{_CUTOFF}",
        "wpref": f"wpref(graph=derived)@{_CUTOFF}",
    }
    scores = forms.shared(forms.scored(runs, measures, qrels=qrels))
    columns = {
        name: table.set_index(["run_id", "query_id"])["value"].sort_index()
        for name, table in scores.items()
    }
    rows = [
        (a, b, correlation(columns[a], columns[b], "pearson"))
        for a, b in combinations(columns, 2)
    ]
    found = pd.DataFrame(rows, columns=["measure_a", "measure_b", "r"])
    pairs = pgcjax.meta.agree_measures(scores)
    pairs["share"] = pairs["agree"] / (pairs["agree"] + pairs["disagree"])
    names = list(measures)
    out.table(
        forms.square(found, "r", names),
        f"The form of Table 5 (a) on {title}, cutoff {_CUTOFF}: Pearson's r over "
        "runs and queries. Most pairs have a document that was not retrieved: they are "
        "the larger part of ppref and have no weight in wpref, so that the two differ.",
    )
    out.table(
        forms.square(pairs, "share", names),
        f"The form of Table 5 (b) on {title}: agreement on which of two runs is better "
        "on a query, where neither measure ties",
    )


def _transitivity(out: Chapter, data: Data) -> None:
    said = {
        "Deep Learning 2021, people": data.dl21_people,
        "Deep Learning 2021, a model": data.dl21_model,
        "CAsT 2019, crowd workers": data.cast_preferences,
    }
    rows = []
    for name, preferences in said.items():
        table = pgcjax.judgments.transitivity(preferences)
        chains = table[table["kind"] == "chains"]
        triples, share = chains["triples"].item(), chains["share"].item()
        rows.append((name, triples, 100 * share))
    names = ["preferences", "chains i > j > k", "with i > k, %"]
    out.text(
        "The pairs of CAsT 2019 were chosen by a tournament, which sets close "
        "documents against each other: shares are not those of all pairs."
    )
    out.table(
        pd.DataFrame(rows, columns=names),
        "What 5.1 asks: is the preference transitive? Repeated judgments count by "
        "majority.",
        digits=1,
    )
