"""Covariates of votes: the model against statsmodels, columns, and refusals."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.io.reading import reading
from pgcjax.judging.bradley_terry import compared_votes, fit_strengths
from pgcjax.judging.covariates import Covariates
from pgcjax.judging.intervals import Finding
from pgcjax.judging.swayed import Swayed

STYLE = {"prose": 0.0, "list": 0.3, "table": 0.6}


def votes_of(seed: int = 0, queries: int = 60, votes: int = 3000) -> pd.DataFrame:
    """Votes on six systems, swayed by place (.4), size (.5 a deviation) and style."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 6, votes)
    b = (a + random.integers(1, 6, votes)) % 6
    size = random.lognormal(6, 0.5, (2, votes))
    style = random.choice([*STYLE], (2, votes), p=[0.5, 0.3, 0.2])
    strength = np.linspace(-1, 1, 6)
    gain = np.vectorize(STYLE.get)(style)
    apart = size[0] - size[1]
    odds = strength[a] - strength[b] + 0.4 + 0.5 * apart / np.sqrt((apart**2).mean())
    won = random.random(votes) < 1 / (1 + np.exp(-odds - gain[0] + gain[1]))
    query = random.integers(0, queries, votes)
    return pd.DataFrame(
        {
            **{"query_id": [f"q{i}" for i in query], "model_a": [f"m{i}" for i in a]},
            **{"model_b": [f"m{i}" for i in b]},
            "winner": np.where(won, "model_a", "model_b"),
            **{"size_a": size[0], "size_b": size[1]},
            **{"style_a": style[0], "style_b": style[1], "language": "en"},
        }
    )


def test_the_model_is_that_of_statsmodels():
    """Coefficients and errors clustered by query, of votes, ties and probabilities."""
    random = np.random.default_rng(1)
    count, n = 2000, 5
    a, query = random.integers(0, n, count), random.integers(0, 60, count)
    b = (a + random.integers(1, n, count)) % n
    table = pd.DataFrame(
        {
            **{"query_id": query.astype(str), "doc_id": a.astype(str)},
            "other_doc_id": b.astype(str),
            "preference": random.choice([-1.0, 0.0, 1.0], count),
            "probability": np.where(
                random.random(count) < 0.5, random.random(count), np.nan
            ),
            "weight": random.integers(1, 4, count),
        }
    )
    votes, x = compared_votes(table), random.normal(0, 1, (count, 3))
    fit = fit_strengths(votes, np.inf, Covariates(("x", "y", "z"), x, np.ones(3)))
    sides = np.eye(n)[a] - np.eye(n)[b]
    # Without a prior, strengths are relative: the last one is the reference.
    design = np.column_stack([sides[:, :-1], x])
    rows = np.repeat(np.arange(count), table["weight"])
    model = sm.GLM(votes.won[rows], design[rows], sm.families.Binomial())
    groups = {"groups": query[rows], "use_correction": False}
    expected = model.fit(tol=1e-14, cov_type="cluster", cov_kwds=groups)
    value = np.r_[fit.strength[:-1] - fit.strength[-1], fit.beta]
    assert np.allclose(value, expected.params, rtol=0, atol=1e-6)
    map_to = np.eye(n + 3)[[*range(n - 1), n, n + 1, n + 2]]
    map_to[: n - 1, n - 1] = -1
    error = np.sqrt(np.diag(map_to @ fit.covariance @ map_to.T))
    assert np.allclose(error, expected.bse * np.sqrt(60 / 59), rtol=0, atol=1e-6)


@pytest.mark.parametrize("by", ["all", "query"])
def test_what_sways_judges_is_kept_out_of_strengths(by):
    names = ["size", "style", "first"]
    table = votes_of(0, 60, 3000) if by == "all" else votes_of(0, 10, 800)
    found = pgcjax.judgments.fit(table, by=by, covariates=names)
    assert found.metadata["covariates"] == names
    effects = found.effects.set_index("effect")
    truth = {"size": 0.5, "style=list": 0.3, "style=table": 0.6, "first": 0.4}
    assert [*effects.index] == ["size", "style=list", "style=table", "first"]
    for name, value in truth.items():
        assert abs(effects["log_odds"][name] - value) < 3 * effects["error"][name]
    apart = table["size_a"] - table["size_b"]
    assert np.isclose(effects["unit"]["size"], np.sqrt((apart**2).mean()))
    if by == "all":
        table = found.table.sort_values("doc_id")
        far = (table["strength"] - np.linspace(-1, 1, 6)) / table["error"]
        assert far.abs().max() < 3
        # What is left out makes strengths look nearer to each other.
        raw = pgcjax.judgments.fit(votes_of(0, 60, 3000), by="all").table
        assert np.ptp(raw["strength"]) < 0.95 * np.ptp(table["strength"])


def test_discriminations_of_groups_are_found():
    table = votes_of(2, votes=6000)
    group = np.arange(len(table)) % 2
    # Every other vote by somebody who guesses half of the time.
    random = np.random.default_rng(0)
    guess = (group == 1) & (random.random(len(table)) < 0.5)
    drawn = random.choice(["model_a", "model_b"], len(table))
    table["winner"] = np.where(guess, drawn, table["winner"])
    read = pgcjax.files.read_preferences(table)
    fit = fit_strengths(compared_votes(read), 2.5, group=group)
    assert 0.3 < np.exp(fit.sharpness[0]) < 0.65


LAYOUTS = {
    "placed": ["model_a", "model_b", "style_a", "style_b"],
    "numbered": ["model_1", "model_2", "style_1", "style_2"],
    "canonical": ["doc_id", "other_doc_id", "style", "other_style"],
    "by result": ["chosen", "rejected", "chosen_style", "rejected_style"],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_columns_of_covariates_are_read_of_any_layout(layout):
    names = LAYOUTS[layout]
    rows = [("s1", "s2", "x", "y"), ("s2", "s3", "y", "z")]
    table = pd.DataFrame(rows, columns=names).assign(query_id=["1", "2"])
    if layout == "canonical":
        table["preference"] = [1, -1]
    elif layout != "by result":
        table["winner"] = [names[0], names[1]]
    with reading(covariates=["style"]):
        read = pgcjax.files.read_preferences(table)
    assert read[["style", "other_style"]].to_numpy().tolist() == [
        ["x", "y"],
        ["y", "z"],
    ]
    assert "style" not in pgcjax.files.read_preferences(table.drop(columns=names[2:]))


def test_double_votes_keep_covariates_by_document():
    table = pd.DataFrame(
        [("q", "b", "a", 1, "b", "y", "x"), ("q", "a", "b", -1, "a", "x", "y")],
        columns=["query_id", "doc_id", "other_doc_id", "preference", "first"]
        + ["style", "other_style"],
    )
    with reading(covariates=["style"], flips="tie"):
        (row,) = pgcjax.files.read_preferences(table).to_dict("records")
    assert (row["doc_id"], row["style"], row["other_style"]) == ("a", "x", "y")


MISTAKES = {
    "covariate 'depth': votes have no columns depth_a and depth_b (nor depth and "
    "other_depth)": ["depth"],
    "covariate 'language': the column language does not describe a side; expected "
    "language_a and language_b (or language and other_language)": ["language"],
    "covariate 'twice' cannot be separated from size: leave one out": ["size", "twice"],
    "covariate 'flat' is the same on both sides of every vote": ["flat"],
    (
        "covariate 'trait' cannot be separated from the strengths of documents: "
        "leave one out"
    ): ["trait"],
    "covariate 'sure=yes' predicts every vote: leave it out": ["sure"],
    "self_preference: no judge judges a document of its own family: give families "
    "(--family NAME=FAMILY), or columns family_a, family_b and judge_family": [
        "self_preference"
    ],
    (
        "covariate 'tag' has 3000 categories, such as x0, x1, x10, …: at most 20 are "
        "allowed"
    ): ["tag"],
}


@pytest.mark.parametrize("message", MISTAKES)
def test_what_is_no_covariate_is_refused_in_one_line(message):
    table = votes_of()
    won = table["winner"] == "model_a"
    flag = np.where(won, "yes", "no"), np.where(won, "no", "yes")
    more = {"twice_a": 2 * table["size_a"], "twice_b": 2 * table["size_b"]}
    more |= {"flat_a": 1, "flat_b": 1, "sure_a": flag[0], "sure_b": flag[1]}
    strength = {f"m{i}": i * i for i in range(6)}
    more |= {f"trait_{s}": table[f"model_{s}"].map(strength) for s in "ab"}
    more |= {f"tag_{s}": [f"x{i}" for i in range(len(table))] for s in "ab"}
    with pytest.raises(UsageError) as refused:
        names = MISTAKES[message]
        pgcjax.judgments.fit(table.assign(**more), by="all", covariates=names)
    assert str(refused.value) == message


def arena(seed: int, advantage: float, alone: bool = False) -> pd.DataFrame:
    """Votes of three judges on five systems, of which judge m0 is one, and sharper."""
    random = np.random.default_rng(seed)
    query = np.repeat(np.arange(60), 8)
    strength = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
    tables = []
    for judge, sharp in (("m0", 2.0), ("x", 1.0), ("y", 1.0)):
        a = random.integers(0, 5, len(query))
        b = (a + random.integers(1, 5, len(query))) % 5
        odds = sharp * (strength[a] - strength[b])
        odds += advantage * (judge == "m0") * ((a == 0) * 1.0 - (b == 0))
        won = random.random(len(query)) < 1 / (1 + np.exp(-odds))
        columns = {"query_id": query.astype(str), "judge": judge}
        columns |= {"doc_id": [f"m{i}" for i in a]}
        columns |= {"other_doc_id": [f"m{i}" for i in b]}
        tables.append(pd.DataFrame({**columns, "preference": np.where(won, 1, -1)}))
    return pd.concat(tables[:1] if alone else tables, ignore_index=True)


def own_answers(table: pd.DataFrame, families=None) -> list[Finding]:
    """Find what an audit says of judge m0, or gpt-5, whose family is the same."""
    swayed = Swayed(table, [], None, families)
    return [f for name in ("m0", "gpt-5") for f in swayed.own_answers(name)]


@pytest.mark.parametrize("advantage", [0.0, 1.5])
def test_what_own_answers_gain(advantage):
    """A judge who is sharper than others does not seem to prefer its own good ones."""
    (found,) = own_answers(arena(1, advantage))
    assert found.low < np.exp(advantage) < found.high
    assert (found.verdict == "prefers its own") == (advantage > 0)


def test_families_are_named_or_columns():
    table = arena(1, 0.5)
    named = table.replace({"judge": {"m0": "gpt-5"}})
    families = {"gpt-5": "openai", "m0": "openai"}
    assert not own_answers(named)
    assert own_answers(named, families) == own_answers(table)
    columns = {"family": "doc_id", "other_family": "other_doc_id"}
    columns |= {"judge_family": "judge"}
    of_rows = {c: named[x].replace(families) for c, x in columns.items()}
    assert own_answers(named.assign(**of_rows)) == own_answers(table)


def test_one_judge_alone_cannot_tell_bias_from_strength():
    (found,) = own_answers(arena(1, 0.5, alone=True))
    assert found.verdict == (
        "not asked: covariate 'self_preference' cannot be separated from the "
        "strengths of "
        "documents: leave one out"
    )


def test_an_audit_estimates_covariates_for_each_judge():
    table = votes_of().assign(judge=lambda t: np.where(t.index % 2, "x", "y"))
    table = table.assign(judge=table["judge"].where(table["model_a"] != "m0", "m0"))
    names = ["size", "style", "self_preference"]
    found = pgcjax.judgments.audit(table, covariates=names).table
    (own,) = found[found["probe"] == "self_preference"].to_dict("records")
    assert own["judge"] == "m0"
    found = found[found["probe"] == "covariate"].set_index(["judge", "of"])
    assert len(found) == 12
    size = found.xs("size", level="of")
    assert (size["low"] < np.exp(0.5)).all() and (np.exp(0.5) < size["high"]).all()
    assert set(size["verdict"]) == {"prefers more of it"}
