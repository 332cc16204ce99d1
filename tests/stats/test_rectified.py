"""Human scores predicted with a model's: equal to a plain twin; refusals."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import rectified as twins
from helpers.twins.rectified import rectified as twin
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.stats import tests
from pgcjax.stats.compare import compare
from pgcjax.stats.rectified import NOT_RANDOM, estimate, random_share

BESIDE = ["human", "model", "lambda", "effective_queries", "width_ratio"]
PPI_PY = {"estimate": 0.3389970109052687, "lambda": 0.22713835238470637}
PPI_PY |= {"low": 0.2522347457696354, "high": 0.42575927604090197}
KEYS = ["run_id", "query_id", "measure"]


def tables(seed: int = 0, runs: int = 4, judged: int = 8, queries: int = 20, like=0.7):
    """Make scores by a model, and by people of some of its queries, in mixed order."""
    random = np.random.default_rng(seed)
    names = random.permutation([f"q{q:02}" for q in range(queries)])
    model, human = [], []
    for r in range(runs):
        of_run = random.random(queries) + 0.1 * r
        people = like * of_run + (1 - like) * random.random(queries)
        model += [(f"r{r}", q, "PGC", v) for q, v in zip(names, of_run, strict=True)]
        rows = [(f"r{r}", q, "PGC", v) for q, v in zip(names, people, strict=True)]
        human += rows[:judged]
    columns = [*KEYS, "value"]
    return pd.DataFrame(model, columns=columns), pd.DataFrame(human, columns=columns)


def lists(frame: pd.DataFrame, run: str) -> dict[str, float]:
    rows = frame[frame.run_id == run].sort_values("query_id")
    return dict(zip(rows.query_id, rows.value, strict=True))


@settings(max_examples=10)
@given(
    st.integers(0, 10**6),
    st.integers(5, 12),
    st.sampled_from([-1.0, 0.0, 0.5, 0.9, 1.0, 3.0]),
    st.sampled_from([0.05, 0.2]),
)
def test_both_tables_are_those_of_the_twin(seed, judged, like, alpha):
    model, human = tables(seed, 3, judged, 13, like)
    found = compare(model, rectify=human, alpha=alpha, correction="none")
    h, m = ({r: lists(t, r) for r in ("r0", "r1", "r2")} for t in (human, model))
    rest = [q for q in m["r0"] if q not in h["r0"]]

    def expected(score):
        return twin(
            [score(h, q) for q in h["r0"]],
            [score(m, q) for q in h["r0"]],
            [score(m, q) for q in rest],
            alpha,
        )

    for _, row in found.table.iterrows():
        a, b = row["run_a"], row["run_b"]
        numbers = expected(lambda of, q, a=a, b=b: of[a][q] - of[b][q])
        assert row["difference"] == pytest.approx(numbers.pop("mean"), abs=1e-12)
        for name, value in numbers.items():
            assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
    for _, row in found.runs.iterrows():
        numbers = expected(lambda of, q, run=row["run_id"]: of[run][q])
        for name in ("mean", "low", "high", *BESIDE):
            assert row[name] == pytest.approx(numbers[name], rel=1e-9, abs=1e-12), name
    p = found.table.p_value.to_numpy()
    holm = compare(model, rectify=human, alpha=alpha).table
    assert (holm.p_value == p).all()
    assert (holm.p_adjusted == tests.adjust(p, "holm")).all()
    outside = (holm.low > 0) | (holm.high < 0)
    assert (outside == (p < alpha / 3)).all()
    assert (found.table["lambda"].between(0, 1)).all()


def test_an_estimate_is_that_of_ppi_py():
    """Estimate and λ are those of ppi_py 0.2.3, on the same numbers.

    Its interval has normal quantiles, and divides the residuals by n: it is narrower.
    """
    human = np.array([[0.3, 0.5, 0.1, 0.4, 0.35, 0.2]])
    model = [[0.35, 0.6, 0.2, 0.38, 0.5, 0.1, 0.9, 0.45, 0.3, 0.62, 0.55, 0.2, 0.41]]
    found = estimate(human, np.array(model))
    assert found.mean[0] == pytest.approx(PPI_PY["estimate"], abs=1e-12)
    assert found.power[0] == pytest.approx(PPI_PY["lambda"], abs=1e-12)
    low, high = (x[0] for x in found.interval(0.05))
    assert low < PPI_PY["low"] and high > PPI_PY["high"]


def test_what_does_not_vary():
    model, human = tables(1, runs=3)
    twin_run = [t[t.run_id == "r2"].assign(run_id="r9") for t in (model, human)]
    model, human = (
        pd.concat([t, more]) for t, more in zip((model, human), twin_run, strict=True)
    )
    # r1 by people is r0 and a constant; by the model both are one run.
    for table, more in ((model, 0.0), (human, 0.25)):
        rows, of_r0 = table.run_id == "r1", table[table.run_id == "r0"]
        table.loc[rows, "value"] = of_r0["value"].to_numpy() + more
    found = compare(model, rectify=human)
    table = found.table.set_index(["run_a", "run_b"])
    same = table.loc[("r2", "r9")]
    assert same["identical"] and same["p_value"] == same["p_adjusted"] == 1
    nothing = ["difference", "low", "high", "effect_size", "lambda"]
    assert not same[nothing].to_numpy(float).any()
    assert (same["effective_queries"], same["width_ratio"]) == (8, 1)
    apart = table.loc[("r0", "r1")]
    assert apart["p_value"] == 0 and apart["effect_size"] == -np.inf
    assert apart["low"] == apart["high"] == pytest.approx(-0.25)
    assert not apart["identical"] and apart["significant"]
    groups = found.runs.set_index("run_id")["groups"]
    assert groups["r2"] == groups["r9"] and not {*groups["r0"]} & {*groups["r1"]}


def test_order_of_rows_and_other_runs_change_nothing():
    model, human = tables(2, runs=5)
    whole = compare(model, rectify=human, correction="none")
    mixed = (t.sample(frac=1, random_state=0) for t in (model, human))
    again = compare(next(mixed), rectify=next(mixed), correction="none")
    pd.testing.assert_frame_equal(whole.table, again.table, check_exact=True)
    pd.testing.assert_frame_equal(whole.runs, again.runs, check_exact=True)
    few = [t[t.run_id.isin(["r1", "r3"])] for t in (model, human)]
    row = compare(few[0], rectify=few[1], correction="none").table.iloc[0]
    at = whole.table.set_index(["run_a", "run_b"]).loc[("r1", "r3")]
    assert (at == row.drop(["run_a", "run_b"])).all()
    base = compare(model, rectify=human, baselines="r1", correction="none").table
    at = base.set_index(["run_a", "run_b"]).loc[("r3", "r1")]
    assert at["difference"] == -row["difference"] and at["p_value"] == row["p_value"]


def test_what_is_told():
    model, human = tables(3)
    found = compare(model, rectify=human)
    used = found.metadata
    kept = [used[name] for name in ("test", "correction", "interval", "queries")]
    assert kept == ["t", "holm", "t", 20]
    assert used["human_queries"] == 8 and len(used["human_scores"]) == 16
    power, width = found.table[["lambda", "width_ratio"]].median()
    share = (
        "judged queries as a random share, by the model's scores: p = {:.3g}, "
        "permutation, largest difference of all runs"
    )
    wide = model.pivot(index="run_id", columns="query_id", values="value")
    p, _ = random_share(wide.to_numpy(), wide.columns.isin({*human.query_id}))
    assert share.format(p) in found.notes
    assert found.notes[-1] == (
        f"human scores of 8 of 20 queries; medians over pairs: λ {power:.2f}, "
        f"intervals {width:.2f} as wide as by human scores alone"
    )
    odd = human.replace({"query_id": {human.query_id[0]: "elsewhere"}})
    said = "human scores: 1 query left out that the model lacks"
    with pytest.warns(DataWarning, match=f"^{said}$"):
        found = compare(model, rectify=odd, missing="drop")
    assert said in found.notes and found.metadata["human_queries"] == 7
    assert "human_queries" not in compare(model, test="t").metadata


def test_judged_queries_that_are_no_random_share():
    """The test holds its level, and sees that easy queries were judged."""
    made, low = np.random.default_rng(0), []
    for _ in range(60):
        level = made.normal(0, 1, 40)
        values = level + made.normal(0, 0.7, (6, 40))
        chosen = np.isin(np.arange(40), made.permutation(40)[:12])
        low.append(random_share(values, chosen)[0] < NOT_RANDOM)
        easy = level >= np.sort(level)[-12]
        p, run = random_share(values, easy)
        assert p < 0.01
        lead = values[:, easy].mean(1) - values[:, ~easy].mean(1)
        assert run == np.argmax(lead / values.std(1))
    assert np.mean(low) <= 0.04
    # All shares of few queries, one by one, are what p counts.
    values, chosen = made.normal(size=(3, 7)), np.arange(7) < 3
    assert random_share(values, chosen)[0] == pytest.approx(
        twins.random_share(values.tolist(), [0, 1, 2]), abs=0.04
    )


def test_a_share_that_is_not_random_is_warned_of():
    model, human = tables(3)
    means = model.groupby("query_id")["value"].mean()
    easy = means.sort_values().index[-6:]
    some = model[model.query_id.isin(easy)]
    with pytest.warns(DataWarning, match="are no random share") as warned:
        found = compare(model, rectify=some)
    assert str(warned[0].message) in found.notes


def test_refusals():
    model, human = tables(4)
    first = sorted({*human.query_id})
    odd = human.replace({"query_id": {first[0]: "x1", first[1]: "x2"}})
    away = human.assign(query_id="x" + human.query_id)
    few = human[human.query_id.isin(first[:4])]
    rows = model.drop(columns="measure").pivot(index="query_id", columns="run_id")
    wide = rows["value"].reset_index(drop=True)
    some = ", ".join([*(f"x{q}" for q in first[:3]), "…"])
    for people, how, said in (
        (
            away,
            {},
            f"human scores are for queries {some}, the model's for q00, q01, q02, …: "
            "none is in both. Score the queries that people judged by the model, too.",
        ),
        (
            few,
            {},
            "people judged 4 queries that the model did. At least 5 are needed.",
        ),
        (
            odd,
            {},
            "2 queries with human scores, such as 'x1', have none by the model. Score "
            "them by the model, too, or choose missing drop.",
        ),
        (
            human.assign(measure="AP"),
            {},
            "rectify: no scores of 'PGC'; there are AP",
        ),
        (
            human[human.run_id != "r2"],
            {},
            "run 'r2' has scores by the model alone. Score it by the other, too, or "
            "leave it out of both.",
        ),
        (
            model,
            {},
            "people judged all 20 queries that the model did. Compare the human scores "
            "alone.",
        ),
        (human, {"test": "tukey"}, "rectify goes with test 't' alone, not 'tukey'"),
        (
            human,
            {"interval": "bca"},
            "compare takes no interval=…: intervals are those of the test, so that "
            "they agree with p",
        ),
    ):
        with pytest.raises((DataError, UsageError)) as error:
            compare(model, rectify=people, **how)
        assert str(error.value) == said
    with pytest.raises(DataError) as error:
        compare(model, rectify=wide[:9])
    assert str(error.value) == (
        "rectify needs the names of the queries. Add a column query_id to both tables."
    )
