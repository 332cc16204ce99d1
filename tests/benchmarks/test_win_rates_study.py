"""The study of ranks by few votes of people: what it draws and counts."""

import json

import numpy as np
import pytest

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks.studies import votes_per_pair  # noqa: E402
from benchmarks.studies import win_rates as study  # noqa: E402
from pgcjax.engine import win_rates  # noqa: E402

DESIGNS = (
    study.Design("few", 4, 200, 3000),
    study.Design("uneven", 4, 200, 3000, uneven=True, shown=4, varies=1.0),
)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_estimates_are_of_the_true_win_rates(design):
    far = []
    for seed in range(12):
        votes, truth = study.drawn(design, np.random.default_rng(seed))
        found = win_rates.estimate(votes)
        far.append((found.mean - truth) / np.sqrt(found.covariance.diagonal()))
    assert 0.6 < np.std(far) < 1.4 and np.abs(np.mean(far, 0)).max() < 1.1


def test_sets_are_counted_and_published_errors_are_too_small():
    rows = {row["by"]: row for row in study.tried(DESIGNS[0], 6)}
    widths = [rows[name]["width"] for name in ("published", "windows", "ellipsoid")]
    assert widths == sorted(widths) and widths[0] < widths[1]
    assert rows["windows"]["width"] <= rows["one step"]["width"]
    assert rows["windows"]["ranks_hold"] == 1 and rows["windows"]["families"] == 6


@pytest.mark.parametrize(
    ("module", "key"), [(study, "ranks"), (votes_per_pair, "votes")]
)
def test_the_page_shows_what_studies_found(module, key):
    name = module.__name__.rpartition(".")[2]
    folder = harness.ROOT / "benchmarks" / "results"
    rows = json.loads((folder / f"{name}.json").read_text())[key]
    page = (harness.ROOT / "docs" / "how-sure-evidence.md").read_text("utf-8")
    if module is study:
        assert [x for x in study.tables(rows) if x not in page.splitlines()] == []
    else:
        shares = [f"{100 * row['reached']:.0f}" for row in rows]
        assert f"{', '.join(shares[:-1])} and {shares[-1]} %" in page
