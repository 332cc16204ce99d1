"""Random preferences and runs: conflicts, repeats, ties, bad documents, judges."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import pgcjax
from helpers.builders import run_of
from helpers.collections import collection

COLUMNS = ["query_id", "doc_id", "other_doc_id", "preference"]
PLAIN = ["ppref", "ppref@3", "rpref", "rpref@3", "fpref", "fpref@3", "wpref"]
PLAIN += ["wpref@3", "wpref(weight=upper)", "wpref(weight=upper)@3"]
PLAIN += ["wpref(weight=tool)@3", "wpref(weight=tool,normalize=false)"]
PLAIN += ["APpref", "APpref@3", "Delta-nDCG", "Delta-nDCG@3", "Delta-ERR"]
PLAIN += ["Delta-ERR@3"]
SHARES = [
    f"prefs_{a}{b}" for a in ("simp", "pair", "avgjg") for b in ("", "_imp", "_ret")
]
COUNTS = [f"prefs_num_prefs_{name}" for name in ("poss", "ful", "ful_ret")]
ALL = [*PLAIN, *SHARES, *COUNTS]
BALANCED = ["prefs_avgjg_Rnonrel", "prefs_avgjg_Rnonrel_ret"]


def with_levels(preferences: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of TREC formats: a document has the level that its number gives.

    Judge u has one subgroup, others have two. Rows of bad documents go.
    """
    table = preferences.dropna(subset="other_doc_id")
    ends = (table[c].str.extract(r"(\d+)")[0] for c in ("doc_id", "other_doc_id"))
    level, other_level = ((numbers.astype(float) % 3) for numbers in ends)
    judge = table["judge"] if "judge" in table else pd.Series("u", table.index)
    return table.assign(
        doc_level=level,
        other_doc_level=other_level,
        subgroups=np.where(judge == "u", 1.0, 2.0),
    )


def with_options(measures: list[str], **options: object) -> list[str]:
    """Give measures parameters besides those that they have."""
    extra = ",".join(f"{k}={str(v).lower()}" for k, v in options.items())
    out = []
    for measure in measures:
        name, at, k = measure.partition("@")
        name = f"{name[:-1]},{extra})" if name.endswith(")") else f"{name}({extra})"
        out.append(name + at + k)
    return out


@st.composite
def judgments(draw, docs: int = 7, rows: int = 14) -> pd.DataFrame:
    """A table of one query, with at least one preference."""
    doc = st.integers(0, docs - 1)
    kind = st.sampled_from([-1.0, -1.0, 1.0, 1.0, 1.0, 0.0, None])
    table = []
    for _ in range(draw(st.integers(1, rows))):
        a, b, preference = draw(doc), draw(doc), draw(kind)
        judge, weight = draw(st.sampled_from(["", "u", "v"])), draw(st.integers(1, 3))
        if preference is None or a == b:
            table.append(("q", f"d{a}", None, -1.0, judge or None, weight))
        else:
            table.append(("q", f"d{a}", f"d{b}", preference, judge or None, weight))
    table.append(("q", "d0", f"d{docs - 1}", 1.0, None, 1))
    return pd.DataFrame(table, columns=[*COLUMNS, "judge", "weight"])


@st.composite
def rankings(draw, docs: int = 7) -> list[str]:
    """Some judged documents and some that nobody judged, best first."""
    pool = [f"d{i}" for i in range(docs)] + [f"x{i}" for i in range(3)]
    return draw(st.lists(st.sampled_from(pool), unique=True, max_size=len(pool)))


def scores_of(measures, run, preferences, **options) -> dict[str, float]:
    """Score one run of query q."""
    table = pgcjax.evaluate(
        run_of(run), preferences=preferences, measures=measures, **options
    ).table
    return dict(zip(table["measure"], table["value"], strict=True))


def judged_collection(seed: int, **sizes: int) -> tuple[pd.DataFrame, ...]:
    """A `collection` whose preferences have judges, weights and bad documents."""
    prefs, qrels, runs = collection(seed, **sizes)
    rng = np.random.default_rng(seed)
    prefs = prefs.assign(
        judge=rng.choice(["u", "v", "w"], len(prefs)),
        weight=rng.integers(1, 4, len(prefs)),
    )
    bad = rng.random(len(prefs)) < 0.05
    prefs.loc[bad, "other_doc_id"] = None
    prefs.loc[bad, "preference"] = -1.0
    return prefs, qrels, runs
