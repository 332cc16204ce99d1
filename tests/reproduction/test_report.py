"""The report: what its tables on lists hold, its files, and its verdicts.

Its chapters on images are those of `test_image_chapters.py`: here, without their data.
"""

import csv
import warnings
from itertools import combinations
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from scipy import stats

pytest.importorskip("scripts.reproduction", reason="not in a checkout")
from pgcjax.engine import plan  # noqa: E402
from pgcjax.measures.catalogue import parse  # noqa: E402
from pgcjax.reporting.page import Picture, Table  # noqa: E402
from pgcjax.tensors.padding import at_least  # noqa: E402
from scripts.reproduction import __main__ as command  # noqa: E402
from scripts.reproduction import forms, luo_lists, sakai  # noqa: E402
from scripts.reproduction.chapter import Chapter  # noqa: E402
from scripts.reproduction.data import FOLDERS, Data  # noqa: E402
from scripts.reproduction.verdicts import (  # noqa: E402
    DIFFERS,
    EXACT,
    IRREPRODUCIBLE,
    NOT_HERE,
    NOT_PUBLIC,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
COMMITTED = Path(__file__).parents[2] / "docs/reproduction/verdicts.csv"


@pytest.fixture(scope="module", autouse=True)
def same_shapes():
    """Lay collections out in the same shapes, so that they share programs."""
    with plan.using(runs=8, queries=16), at_least(documents=128, width=64):
        yield


@pytest.fixture(scope="module")
def fewer(data, tmp_path_factory) -> Path:
    """The data without images, and some runs of DL 2021 and of CAsT 2019.

    No verdict depends on these runs, of which eight at most are left.
    """
    root, some = tmp_path_factory.mktemp("data"), ("dl21", "cast2019")
    for name in some:
        (root / name / "runs").mkdir(parents=True)
    for path in [*data.iterdir(), *(p for n in some for p in (data / n).iterdir())]:
        place = root / path.relative_to(data)
        if not place.exists() and path.name != "xie2020":
            place.symlink_to(path)
    for name in some:
        runs = sorted((data / name / "runs").iterdir())
        for path in runs[:: len(runs) // 8 + 1]:
            (root / name / "runs" / path.name).symlink_to(path)
    return root


@pytest.fixture(scope="module")
def scored():
    """What the chapters scored: tables, by the names of measures; kept for all."""
    return {}


@pytest.fixture(scope="module")
def reproduced(fewer, scored, tmp_path_factory) -> tuple[Path, dict[str, Chapter]]:
    """What the command writes, and the chapters that it computed for it."""
    target = tmp_path_factory.mktemp("reproduction") / "new"
    computed, compute, score = [], command.chapters, forms.scored

    def kept(*arguments):
        computed.extend(compute(*arguments))
        return computed

    def remembered(runs, measures, **judgments):
        found = score(runs, measures, **judgments)
        scored.setdefault(tuple(measures), []).append(found)
        return found

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(command, "chapters", kept)
        patch.setattr(forms, "scored", remembered)
        patch.setattr(sakai, "_TRIALS", {"bootstrap": [100, 200], "tukey": [100, 500]})
        command.reproduce.main(
            ["--data", str(fewer), "-o", str(target)], standalone_mode=False
        )
    return target, {chapter.title: chapter for chapter in computed}


@pytest.fixture
def folder(reproduced) -> Path:
    return reproduced[0]


@pytest.fixture
def chapters(reproduced) -> dict[str, Chapter]:
    return reproduced[1]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_verdicts_are_those_of_the_docs(folder):
    mine, theirs = rows_of(folder / "verdicts.csv"), rows_of(COMMITTED)
    images = ("xie2020/", "luo2021/fig-5-", "luo2021/images/")
    absent = {row["cell"] for row in mine if row["verdict"] == NOT_HERE}
    assert absent and all(cell.startswith(images) for cell in absent)
    others = [
        row["cell"]
        for row in theirs
        if row["cell"] not in absent and not row["cell"].startswith(images)
    ]
    columns = ("cell", "published", "verdict", "needs")
    ours, committed = (
        [[row[c] for c in columns] for row in rows if row["cell"] in others]
        for rows in (mine, theirs)
    )
    assert ours == committed and len(others) > 100
    found = {row["verdict"] for row in mine}
    assert DIFFERS not in found and EXACT in found
    cells = [row["cell"] for row in mine]
    assert len(cells) == len(set(cells)) > 200


def test_files(folder):
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["report-figures", "report.html", "report.md", "verdicts.csv"]
    figures = {path.name for path in (folder / "report-figures").iterdir()}
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    assert len(figures) > 6
    assert all(f"(report-figures/{name})" in markdown for name in figures)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == len(figures)
    for row in rows_of(folder / "verdicts.csv"):
        assert row["published"] in page


def tables(chapter, start: str = "") -> list[pd.DataFrame]:
    return [
        pd.DataFrame(part.rows, columns=list(part.columns))
        for part in chapter.parts
        if isinstance(part, Table) and part.caption.startswith(start)
    ]


@pytest.fixture
def lists(chapters):
    return chapters["Luo 2021, chapter 4: lists of documents"]


def test_verdicts_of_luo_4(lists):
    found = {cell.key: cell for cell in lists.cells}
    edges = {k: c for k, c in found.items() if k.startswith("luo2021/cast-edges/")}
    assert len(edges) == 7
    slips = {k for k, c in edges.items() if c.verdict != EXACT}
    assert slips == {
        "luo2021/cast-edges/preference judgments, under Real",
        "luo2021/cast-edges/edges per question, Real",
    }
    assert all(edges[k].verdict == IRREPRODUCIBLE and edges[k].why for k in slips)
    rest = [c for k, c in found.items() if k not in edges]
    assert len(rest) == 29
    assert all(c.verdict == NOT_PUBLIC and c.why for c in rest)


def wide_of(tables, measures: dict[str, str]) -> list[np.ndarray]:
    """Scores `[runs, queries]` of these measures, on the queries that all have."""
    scores = forms.shared({name: tables[name] for name in measures})
    for name, measure in measures.items():
        assert [*map(parse, scores[name]["measure"].unique())] == [parse(measure)]
    return [
        t.pivot(index="run_id", columns="query_id", values="value").to_numpy()
        for t in scores.values()
    ]


def test_form_of_table_4_2(lists, scored):
    """Agreement, τ and sensitivity as numpy and scipy have them, of the same scores."""
    measures = {"nDCG@3, Graded": "nDCG@3", "PGC, Real": "PGC(p=0.8)"}
    kept = ("PGC, Real", "PGC, Combined", "PGC, Derived", "nDCG@3, Graded")
    wide = wide_of(scored[kept][-1], measures)
    assert [w.shape for w in wide] == [(7, 171)] * 2
    (table,) = tables(lists, "The form of Table 4.2")
    row = table.set_index("measure").loc["PGC, Real"]
    a, b = np.triu_indices(7, 1)
    signs = [np.sign(w[a] - w[b]) for w in wide]
    assert int(row["agree, nDCG@3, Graded"]) == (signs[0] * signs[1] > 0).sum()
    assert int(row["disagree, nDCG@3, Graded"]) == (signs[0] * signs[1] < 0).sum()
    tau = stats.kendalltau(*(w.mean(axis=1) for w in wide)).statistic
    assert float(row["τ, nDCG@3, Graded"]) == pytest.approx(tau, abs=5e-5)
    p = [
        1.0 if (wide[1][i] == wide[1][j]).all()
        else stats.ttest_rel(wide[1][i], wide[1][j]).pvalue
        for i, j in zip(a, b, strict=True)
    ]  # fmt: skip
    share = 100 * np.mean(np.array(p) < 0.05)
    assert float(row["sensitivity, %"]) == pytest.approx(share, abs=5e-5)


def test_form_of_table_5_of_carterette(scored, chapters):
    chapter = chapters["Carterette et al. 2008"]
    assert {cell.verdict for cell in chapter.cells} == {NOT_PUBLIC}
    # Of CAsT 2019, the smaller of two collections.
    r, agreed = tables(chapter, "The form of Table 5")[-2:]
    names = {"NDCG": "nDCG(gain=exp)@10", "ppref": "ppref(graph=derived)@10"}
    wide = wide_of(scored["DCG", "NDCG", "ppref", "wpref"][-1], names)
    expected = stats.pearsonr(*(w.ravel() for w in wide)).statistic
    assert float(r.set_index("").loc["NDCG", "ppref"]) == pytest.approx(
        expected, abs=5e-4
    )
    same = opposite = 0
    for i, j in combinations(range(len(wide[0])), 2):
        product = np.sign(wide[0][i] - wide[0][j]) * np.sign(wide[1][i] - wide[1][j])
        same, opposite = same + (product > 0).sum(), opposite + (product < 0).sum()
    share = float(agreed.set_index("").loc["NDCG", "ppref"])
    assert share == pytest.approx(same / (same + opposite), abs=5e-4)
    # The order of two runs on a query does not depend on the ideal list.
    assert agreed.set_index("").loc["DCG", "NDCG"] == "1.000"


def test_forms_of_sakai(scored, chapters):
    chapter = chapters["Sakai 2012: diversity"]
    public = [c for c in chapter.cells if c.key.startswith("sakai2012/collection")]
    assert {c.verdict for c in chapter.cells if c not in public} == {NOT_PUBLIC}
    slips = [c.key for c in public if c.verdict != EXACT]
    assert len(public) == 15 and slips == [
        "sakai2012/collection-text/relevant documents of informational intents"
    ]
    pairs = 36
    for table in tables(chapter, "The form of Table 2") + tables(
        chapter, "The form of Table 3"
    ):
        assert len(table) in (12, 10)
        power = table["power, %"].astype(float)
        counts = table["significant pairs"].astype(int)
        assert np.allclose(power, 100 * counts / pairs, atol=5e-5)
        assert power.is_monotonic_decreasing and counts.max() > 5
        # No difference is required where none is significant, and only there.
        assert ((table["required difference"] == "—") <= (counts == 0)).all()
    (sets,) = tables(chapter, "The form of Table 4")
    tukey = tables(chapter, "The form of Table 3 (a)")[0].set_index("measure")
    for _, row in sets.iterrows():
        for name, cell in row.iloc[1:].items():
            if cell:
                first, both, second = map(int, cell.split("/"))
                found = tukey["significant pairs"].astype(int)
                assert found[row.iloc[0]] == first + both
                assert found[str(name)] == second + both
    (scores,) = [t for names, (t, *_) in scored.items() if {"I-rec", "P+Q"} < {*names}]
    keys = ["run_id", "query_id"]
    value = {n: t.set_index(keys)["value"].sort_index() for n, t in scores.items()}
    mixed = (value["I-rec"] + value["D-nDCG"]) / 2
    assert np.allclose(mixed, value["D#-nDCG"], atol=1e-12)
    pictures = [p.name for p in chapter.parts if isinstance(p, Picture)]
    assert pictures == [
        "sakai-7-a-form",
        "sakai-7-b-form",
        "sakai-8-a-form",
        "sakai-8-b-form",
        "sakai-9-a-form",
        "sakai-9-b-form",
    ]


def test_without_any_data(tmp_path, capsys, monkeypatch):
    arguments = ["reproduce", "--data", str(tmp_path), "-o", str(tmp_path / "o")]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as stopped:
        command.main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"pgcjax: error: {tmp_path}: expected one of the folders")
    assert said.count("\n") == 1 and not (tmp_path / "o").exists()


@pytest.mark.parametrize("name", ["file", "file/new"])
def test_a_folder_that_cannot_be_written(data, tmp_path, capsys, monkeypatch, name):
    """It says so before it computes anything."""
    (tmp_path / "file").write_text("mine")
    arguments = ["reproduce", "--data", str(data), "-o", str(tmp_path / name)]
    monkeypatch.setattr("sys.argv", arguments)
    monkeypatch.setattr(command, "chapters", lambda *_: pytest.fail("computed"))
    with pytest.raises(SystemExit) as stopped:
        command.main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "cannot write into this folder" in said and said.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_is_left_of_what_was_stopped(data, tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "chapters", stopped)
    old = tmp_path / "old"
    old.mkdir()
    for target in (tmp_path / "new", old):
        with pytest.raises(click.Abort):
            command.reproduce.main(
                ["--data", str(data), "-o", str(target)], standalone_mode=False
            )
    assert list(tmp_path.iterdir()) == [old] and not list(old.iterdir())


@pytest.mark.usefixtures("reproduced")
def test_some_of_the_data(fewer, scored, tmp_path, monkeypatch):
    """What is absent is said to be, and the rest is there, scored as before."""
    before = {names: tables[-1] for names, tables in scored.items()}  # of CAsT 2019
    monkeypatch.setattr(forms, "scored", lambda _, names, **__: before[tuple(names)])
    (tmp_path / "cast2019").symlink_to(fewer / "cast2019")
    part = Data(tmp_path)
    assert [name for name in FOLDERS if name in part] == ["cast2019"]
    found = luo_lists.chapter(part)
    assert len(tables(found, "The form of Table 4.2")) == 1
    assert not tables(found, "The form of Table 4.1")
    nothing = luo_lists.chapter(Data(tmp_path / "none"))
    verdicts = {cell.verdict for cell in nothing.cells}
    assert verdicts == {NOT_PUBLIC, NOT_HERE}
