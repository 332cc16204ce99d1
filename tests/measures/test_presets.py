"""Names of several measures: trec_eval's official ones, and all that can be had."""

import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.errors import UsageError
from pgcjax.measures.catalogue import catalogue, parse_all


def test_all_takes_what_the_judgments_suffice_for():
    every = {measure.name for measure in parse_all("all")}
    assert every == {*catalogue()}
    of_qrels = parse_all("all", {"qrels"})
    assert {"AP", "nDCG", "Compat"} <= {m.name for m in of_qrels}
    for measure in of_qrels:
        assert measure.needs <= {"qrels"}
    both = parse_all(["PGC(p=0.8)", "all", "PGC"], {"qrels", "preferences"})
    assert str(both[0]) == "PGC(p=0.8)" and {m.name for m in of_qrels} < {
        m.name for m in both
    }
    assert len(both) == len(set(both))
    shown = set(map(str, parse_all("all", {"qrels"})))
    assert "IPrec@0.1" in shown and "nDCG" in shown and "Success@10" in shown


def test_official_has_what_trec_eval_prints():
    demo = demo_folder()
    scores = pgcjax.evaluate(
        demo / "runs" / "reed.txt",
        qrels=demo / "qrels.txt",
        measures=["Official", "nDCG@10"],
        means_only=True,
    )
    names = list(scores.mean().columns)
    assert names[:4] == ["NumQ", "NumRet", "NumRel", "NumRelRet"]
    assert len(names) == 9 + 11 + 9 + 1 and names[-1] == "nDCG@10"
    assert {"AP(mean=geometric)", "IPrec@0.0", "IPrec@1.0", "P@1000"} < {*names}


def test_names_of_presets_are_no_measures():
    for name, said in (
        ("all_trec", "it is all measures of trec_eval; nearest here: the preset all"),
        ("set", "it is the measures set_… of trec_eval; nearest here: SetF"),
        ("all@10", "no measure is called 'all'"),
    ):
        with pytest.raises(UsageError, match=said):
            parse_all(name)
    taken = type("Other", (type(catalogue()["AP"]),), {"name": "Official"})()
    with pytest.raises(UsageError, match="no measure can be called 'Official'"):
        pgcjax.register(taken)


def test_arguments_by_other_names_are_said_in_one_line():
    demo = demo_folder()
    with pytest.raises(UsageError) as error:
        pgcjax.evaluate(demo / "runs", prefs=demo / "preferences.csv")
    assert str(error.value) == "evaluate takes no prefs=…: give preferences=…"
    with pytest.raises(UsageError) as error:
        pgcjax.evaluate(demo / "runs", qrels=demo / "qrels.txt", missing="shared")
    assert str(error.value).startswith(
        "missing is one of zero, skip, error: shared leaves queries out of existing "
        "scores"
    )
