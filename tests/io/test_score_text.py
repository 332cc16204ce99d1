"""Scores of other tools: their lines are read for what they are, or refused."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from pgcjax import Scores
from pgcjax.errors import DataError, UsageError
from pgcjax.files import read_scores, reading
from pgcjax.io.choices import SCORE_FORMATS
from pgcjax.io.scores.door import read_any_scores

TWO = [
    ("a", "1", "P_10", 0.1 + 0.2),
    ("a", "1", "map", 1e-17),
    ("a", "2", "P_10", -0.0),
    ("a", "2", "map", 0.5),
    ("b", "1", "P_10", 1 / 3),
    ("b", "1", "map", 0.25),
    ("b", "2", "P_10", 1.0),
    ("b", "2", "map", 5e-324),
]
MEAN = 0.15000000000000002
LINES = {
    "trec_eval": f"""\
runid	all	a
P_10	1	0.30000000000000004
map	1	1e-17
P_10	2	-0.0
map	2	0.5
P_10	all	{MEAN}
map	all	0.25
""",
    "tot": f"""\
a	P_10	1	0.30000000000000004
a	map	1	1e-17
a	P_10	2	-0.0
a	map	2	0.5
a	P_10	all	{MEAN}
a	map	all	0.25
b	P_10	1	0.3333333333333333
b	map	1	0.25
b	P_10	2	1.0
b	map	2	5e-324
b	P_10	all	0.6666666666666666
b	map	all	0.125
""",
    "ir_measures": f"""\
a	1	P_10	0.30000000000000004
a	1	map	1e-17
a	2	P_10	-0.0
a	2	map	0.5
a	all	P_10	{MEAN}
a	all	map	0.25
b	1	P_10	0.3333333333333333
b	1	map	0.25
b	2	P_10	1.0
b	2	map	5e-324
b	all	P_10	0.6666666666666666
b	all	map	0.125
""",
    "ranking": f"""\
1	Q0	b	1	0.3333333333333333	P_10
1	Q0	a	2	0.30000000000000004	P_10
1	Q0	b	1	0.25	map
1	Q0	a	2	1e-17	map
2	Q0	b	1	1.0	P_10
2	Q0	a	2	-0.0	P_10
2	Q0	a	1	0.5	map
2	Q0	b	2	5e-324	map
all	Q0	b	1	0.6666666666666666	P_10
all	Q0	a	2	{MEAN}	P_10
all	Q0	a	1	0.25	map
all	Q0	b	2	0.125	map
""",
}
LINES["jsonl"] = "".join(
    f'{{"run_id": "{run}", "topic_id": "{topic}", "measure": "{measure}", '
    f'"value": {value}}}\n'
    for run, measure, topic, value in map(str.split, LINES["tot"].splitlines())
)


def scores_of(rows) -> Scores:
    names = ["run_id", "query_id", "measure"]
    table = pd.DataFrame(rows, columns=[*names, "value"])
    return Scores(table.astype(dict.fromkeys(names, "str")), {"version": "0"})


@pytest.mark.parametrize("form", SCORE_FORMATS)
def test_each_format_to_the_letter_and_back(tmp_path, form):
    rows = TWO[:4] if form == "trec_eval" else TWO
    name = "scores.jsonl" if form == "jsonl" else "scores.txt"
    path = scores_of(rows).save(tmp_path / name, score_format=form)
    assert path.read_text() == LINES[form]
    read = read_scores(path)
    assert repr(list(read.table.itertuples(index=False, name=None))) == repr(rows)
    assert read.metadata == {} and read.measures == ["P_10", "map"]
    means = read_any_scores(path)[0]
    topic = "topic_id" if form == "jsonl" else "query_id"
    assert (means[topic] == "all").sum() == len(rows) / 2
    # As trec_eval and people lay columns out; a comment is none of them.
    if form != "jsonl":
        text = "# by hand\n\n" + LINES[form].replace("\t", " \t ")
        path.write_text(text)
        assert read_scores(path).table.equals(read.table)
        path.write_text(text.replace("\t", " "))
        assert read_scores(path).table.equals(read.table)


def test_what_tools_write_of_one_run(tmp_path):
    """trec_eval, with what is of no query; ir_measures -q, as text and as JSON."""
    expected = [["bm25", "1", "nDCG@10", 0.5], ["bm25", "q", "nDCG@10", 0.25]]
    texts = {
        "bm25.eval": "runid                 \tall\tbm25\n"
        "num_q                 \tall\t2\n"
        "nDCG@10               \t1\t0.5000\nnDCG@10               \tq\t0.2500\n"
        "gm_map                \tall\t0.3000\nnDCG@10               \tall\t0.3750\n",
        "bm25.txt": "1\tnDCG@10\t0.5000\nq\tnDCG@10\t0.2500\nall\tnDCG@10\t0.3750\n",
        "bm25.tsv": "1\tnDCG@10\t0.5000\nq\tnDCG@10\t0.2500\nall\tnDCG@10\t0.3750\n",
        "bm25.jsonl": "".join(
            json.dumps({"query_id": q, "measure": "nDCG@10", "value": v}) + "\n"
            for q, v in (("1", 0.5), ("q", 0.25), ("all", 0.375))
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        path = tmp_path / name
        assert read_scores(path).table.to_numpy().tolist() == expected, name
    (tmp_path / "bm25.jsonl").write_text('{"measure": "AP", "value": 0.5}\n')
    (tmp_path / "bm25").write_text("AP\t0.5\n")
    with reading(score_format="ir_measures"):
        for name in ("bm25.jsonl", "bm25"):
            found = read_any_scores(tmp_path / name)[0]
            found = found[["run_id", "query_id", "measure", "value"]]
            assert found.astype(str).to_numpy().tolist() == [
                ["bm25", "all", "AP", "0.5"]
            ]
            with pytest.raises(DataError) as error:
                read_scores(tmp_path / name)
            assert str(error.value) == (
                f"{tmp_path / name}: holds means alone (topic 'all'), no scores of "
                "queries. Let the tool write queries, too (trec_eval -q); correlate "
                "--truth takes means."
            )


def test_a_folder_is_read_as_one_table(tmp_path):
    """As trec_eval writes a file for each run; each file may be of another tool."""
    folder = tmp_path / "evals"
    folder.mkdir()
    (folder / "a.eval").write_text("map\t1\t0.5\nmap\tall\t0.5\n")
    (folder / "b.txt").write_text("runid\tall\tB 25\nmap\t1\t0.25\nmap\tall\t0.25\n")
    (folder / "c.csv").write_text("run_id,query_id,measure,value\nc,1,map,1\n")
    expected = [["a", "1", "map", 0.5], ["B 25", "1", "map", 0.25]]
    expected.append(["c", "1", "map", 1.0])
    for source in (folder, tmp_path / "ev*" / "*"):
        assert read_scores(source).table.to_numpy().tolist() == expected
        assert read_scores(source).metadata == {}


SURE = {
    "r map 301 .5\nr map 302 .5": "tot",
    "r q1 map .5\nr all map .5": "ir_measures",
    "301 map .5\n302 map .5": "ir_measures",
    "map q1 .5\nmap all .5": "trec_eval",
    "31_1 Q0 a 1 .5 map\n31_1 Q0 b 2 .4 map\n31_2 Q0 a 1 .5 map\n31_2 Q0 b 2 .4 map": (
        "ranking"
    ),
}


@pytest.mark.parametrize("text", SURE)
def test_what_is_sure_is_found(tmp_path, text):
    """By topics called all, or numbered ones; the name of a file does not matter."""
    for name in ("x.txt", "x.eval", "x"):
        (tmp_path / name).write_text(text)
        found = read_any_scores(tmp_path / name)[0]
        with reading(score_format=SURE[text]):
            named = read_any_scores(tmp_path / name)[0]
        assert found.equals(named)
        assert set(found["measure"]) == {"map"}


GUESS = (
    "x.txt:1: may be scores in the format {} or ir_measures: nothing shows which "
    "column names topics, {}. Say which: score_format={!r}, --score-format {}, if the "
    "column with 2 names is that of topics."
)
UNSURE = {
    "r map q1 .5\nr map q2 .5": GUESS.format("tot", "'r map q1 .5'", "tot", "tot"),
    "r q1 map .5\nr q2 map .5": GUESS.format(
        "tot", "'r q1 map .5'", "ir_measures", "ir_measures"
    ),
    "map q1 .5\nmap q2 .5": GUESS.format(
        "trec_eval", "'map q1 .5'", "trec_eval", "trec_eval"
    ),
    "model 0.5 0.6 1\na 0.5 0.6 1": GUESS.format(
        "tot", "'model 0.5 0.6 1'", "tot", "tot"
    ).replace("2 names", "1 names"),
    "q1 Q0 d1 1 9 run\nq2 Q0 d2 1 9 run": "x.txt: may be scores in the format ranking, "
    "or a run: some topics lack some of the ranked names. If these are "
    "scores, say so: score_format='ranking', --score-format ranking.",
    "301 0 d1 1\n301 0 d2 0": GUESS.format(
        "tot", "'301 0 d1 1'", "tot", "tot"
    ),  # qrels
    "r map all .5\nmap all .5": "x.txt:2: expected 'run measure topic value', found 3 "
    "fields: 'map all .5'. tot has these columns in every line.",
    "r map all .5\nr map 1 much": "x.txt:2: expected a finite number as value, found "
    "'much'. Every row needs one.",
}


@pytest.mark.parametrize("text", UNSURE)
def test_what_is_not_sure_is_refused_with_a_guess(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(DataError) as error:
        read_scores("x.txt")
    assert str(error.value) == UNSURE[text]


def test_a_format_that_is_asked_for_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text("r map q1 .5\nr map q2 .5\n")
    for form, said in (
        (
            "ranking",
            "topic Q0 run rank value measure', found 4 fields: 'r map q1 .5'. ",
        ),
        ("trec_eval", "measure topic value', found 4 fields: 'r map q1 .5'. "),
    ):
        with reading(score_format=form), pytest.raises(DataError) as error:
            read_scores("x.txt")
        more = f"{form} has these columns in every line."
        assert str(error.value) == f"x.txt:1: expected '{said}{more}"
    with reading(score_format="jsonl"):
        with pytest.raises(
            DataError, match=r"x\.txt:1: expected one JSON object a line"
        ):
            read_scores("x.txt")
        for name in ("x.trec", "x.tsv"):  # whose suffix says what they are
            (tmp_path / name).write_text("301\tmap\t.5\nall\tmap\t.5\n")
            assert read_scores(name).table.to_numpy().tolist() == [
                ["x", "301", "map", 0.5]
            ]
    with pytest.raises(UsageError) as usage, reading(score_format="trec"):
        pass
    assert str(usage.value) == (
        "score_format is one of auto, trec_eval, tot, ir_measures, ranking, jsonl, not "
        "'trec'"
    )


REFUSED = {
    "tot": [
        (("#a", "1", "m"), "a comment of run '#a'"),
        (("a", "1", "P at 5"), "several fields of measure 'P at 5'"),
        (("a", "1", "all"), "a topic of measure 'all'"),
    ],
    "trec_eval": [(("a", "1", "#m"), "a comment of measure '#m'")],
    "ranking": [(("a", "#1", "m"), "a comment of query '#1'")],
    "ir_measures": [(("a\x85b", "1", "m"), r"several fields of run 'a\x85b'")],
    "jsonl": [(("a", "all", "m"), "a mean of query 'all'")],
}


@pytest.mark.parametrize("form", REFUSED)
def test_what_would_be_read_as_something_else_is_not_written(tmp_path, form):
    path = tmp_path / ("s.jsonl" if form == "jsonl" else "s.txt")
    for row, lost in REFUSED[form]:
        with pytest.raises(DataError) as error:
            scores_of([(*row, 0.5)]).save(path, score_format=form)
        assert str(error.value) == (
            f"{path}: lines of {form} would make {lost}. Name a .tsv, .csv, .jsonl or "
            ".parquet file, without a format."
        )
    for rows, name, said in (
        (
            TWO,
            path.name,
            "lines of trec_eval name no run, and there are 2: choose tot, ",
        ),
        (
            TWO[:4],
            "s.csv",
            f".csv is no suffix of scores in the format {form}; name s.",
        ),
        (TWO[:4], "s.gz", f".gz is no suffix of scores in the format {form}; name s."),
    ):
        if form == "trec_eval" or rows is not TWO:
            with pytest.raises(UsageError) as usage:
                scores_of(rows).save(tmp_path / name, score_format=form)
            assert str(usage.value).startswith(f"{tmp_path / name}: {said}")
    assert not list(tmp_path.iterdir())


def test_names_of_columns_make_no_header(tmp_path):
    """What names alone make look like something else is refused, or read back."""
    names = [*((n, "1") for n in ("run_id", "\ufeffx", "{")), ("r", "topic")]
    outcomes = set()
    for form, (run, query) in itertools.product(SCORE_FORMATS, names):
        rows = [(run, query, "rank", 0.5), (run, "2", "rank", np.pi)]
        path = tmp_path / ("s.jsonl" if form == "jsonl" else "s.eval")
        try:
            scores_of(rows).save(path, score_format=form)
        except DataError as error:
            outcomes.add(str(error))
            continue
        found = read_scores(path).table.itertuples(index=False, name=None)
        assert sorted(found) == sorted(rows), (form, run, query)
    assert outcomes == {
        f"{tmp_path / 's.eval'}: lines of {form} with these names would read as "
        "something else. Name a .tsv, .csv, .jsonl or .parquet file, without a format."
        for form in ("tot", "ir_measures", "ranking")
    }
