"""The figure of the results says what is in their files, and nothing else."""

import json

import pytest

figure = pytest.importorskip("benchmarks.figure", reason="not in a checkout")


def row(name, ratios, *, ours=False):
    ratios = {
        to: dict(zip(("low", "median", "high"), x, strict=True)) for to, x in ratios
    }
    return {"name": name, "ours": ours, "ratios": ratios}


def result(cpu="A CPU", commit="0123456789", when="2030-01-02T03:04:05+0000"):
    same = "pgcjax", (1, 1, 1)
    part = "its device part", (1.5, 2, 3)
    figures = [
        row("published Python", [("pgcjax", (1100, 1234.4, 1300)), part]),
        row("numba, one core", [("pgcjax", (0.2, 0.25, 0.3)), part]),
        row("pgcjax", [same, part], ours=True),
        row("its device part", [("pgcjax", (0.4, 0.5, 0.6)), part], ours=True),
    ]
    return {
        "when": when,
        "machine": {
            "cpu": cpu,
            "cores_allowed": 2,
            "memory": "16777216 kB",
            "devices": ["cpu"],
        },
        "versions": {"jax": "9.8.7", "numba": None, "commit": commit},
        "races": [{"title": "peel + RBO, N = 5: 6 × 7", "figures": figures}],
        "tables": [],
    }


@pytest.fixture
def saved(tmp_path):
    def save(name, **changes):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(result(**changes)))
        return str(path)

    return save


@pytest.fixture
def drawn(tmp_path):
    pytest.importorskip("matplotlib")

    def draw(*words):
        out = tmp_path / "figure.svg"
        figure.main([*words, "-o", str(out)])
        return out.read_bytes()

    return draw


def test_every_number_is_from_the_file(saved, drawn):
    text = drawn(saved("one")).decode()
    for said in (
        "Peel + RBO",
        "N = 5: 6 × 7",
        "published Python",
        "1,234×",
        "numba, one core",
        "0.25×",
        "A CPU, 2 cores, 16 GiB; 2030-01-02; jax 9.8.7; commit 0123456.",
        "fill: #ffffff",
    ):
        assert said in text
    assert "its device part" not in text  # of the job: others do all of it


def test_equal_files_give_equal_bytes(saved, drawn):
    assert drawn(saved("one")) == drawn(saved("two"))


def test_machines_are_told_apart(saved, drawn):
    later = saved("later", cpu="B CPU", when="2031-01-02")
    text = drawn(later, saved("sooner")).decode()
    assert "Peel + RBO [1]" in text and "[1] A CPU" in text
    assert "Peel + RBO [2]" in text and "[2] B CPU" in text
    again = drawn(saved("sooner"), saved("again", commit="abcdefabcd")).decode()
    assert "[1]" not in again
    assert "commit 0123456 and abcdefa." in again


def test_nothing_to_draw_is_said(saved):
    with pytest.raises(SystemExit, match="no race to draw"):
        figure.main([saved("one"), "--without", "N = 5", "-o", "never.svg"])


def test_the_reference_is_what_pgcjax_does():
    def reference(*names):
        ratios = [(to, (1, 2, 3)) for to in names]
        figures = [row(name, ratios, ours=True) for name in names]
        race = {"title": "a, b", "figures": [row("other", ratios), *figures]}
        (group,) = figure._groups({"races": [race]}, 0)
        return group.reference

    assert reference("pgcjax", "its device part") == "pgcjax"
    assert reference("XLA, one word", "pgcjax's tiles") == "pgcjax's tiles"
    assert reference("XLA, one word", "Pallas") == "XLA, one word"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.237, "0.24×"), (1.0, "1.0×"), (9.6, "9.6×"), (143.3, "143×"), (1270, "1,270×")],
)
def test_two_digits_or_three(ratio, text):
    assert figure.times(ratio) == text
