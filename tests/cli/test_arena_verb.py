"""`pgcjax report --prefs`: a page of votes alone, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest

import pgcjax as package

pytest.importorskip("matplotlib")


def votes(queries=60):
    """A table as an arena writes it."""
    rng = np.random.default_rng(1)
    pairs = [rng.choice(4, 2, replace=False) for _ in range(3 * queries)]
    rows = [
        (f"q{i // 3}", f"m{a}", f"m{b}", "model_a" if a < b else "model_b")
        for i, (a, b) in enumerate(pairs)
    ]
    return pd.DataFrame(rows, columns=["question_id", "model_a", "model_b", "winner"])


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_the_verb_writes_the_page(pgcjax, here, suffix):
    votes().replace("m3", "<b>m3</b>").to_csv("votes.csv", index=False)
    done = pgcjax("report", "--prefs", "votes.csv", "-o", f"page{suffix}")
    assert done.code == 0, done.err
    text = (here / f"page{suffix}").read_text()
    assert "What this page shows" in text and "votes.csv" in text
    assert "<b>m3</b>" not in text or suffix == ".md"
    if suffix == ".html":
        assert not re.findall(r"(?:src|href)=\"https?:", text)
        assert text.count("data:image/svg+xml") == 2
    else:
        assert (here / "page-figures" / "wins.svg").exists()
    by_name = package.judgments.report("votes.csv", here / f"again{suffix}")
    assert by_name.exists()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ([], "Missing argument 'SCORES…', or --prefs FILE."),
        (
            ["--prefs", "votes.csv", "--top", "3"],
            "--top needs SCORES: a page of votes has none",
        ),
        (["--prefs", "no.csv"], "no.csv"),
    ],
)
def test_wrong_use_is_one_line(pgcjax, here, line, text):
    votes(queries=2).to_csv("votes.csv", index=False)
    (here / "scores.csv").write_text("run_id,query_id,measure,value\nr,q,P,1\n")
    done = pgcjax("report", *line, "-o", "page.html")
    assert done.code == 2 and text in done.err and "Traceback" not in done.err
    assert not (here / "page.html").exists()
