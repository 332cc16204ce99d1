"""Size, letters, style and files of figures."""

import sys
from functools import partial

import matplotlib
import pandas as pd
import pytest
from helpers.drawn import check_legible, words

from pgcjax.errors import DataError, UsageError
from pgcjax.reporting import canvas, plot_labels, plots

TABLE = pd.DataFrame(
    [(p, of, p * k) for k, of in enumerate("abc") for p in range(4)],
    columns=["p", "of", "y"],
)
DRAW = partial(plots.lines, TABLE, "p", "y", "of")


def test_the_users_style_is_neither_used_nor_changed():
    plain = canvas.svg(DRAW())
    odd = {
        "font.size": 31,
        "axes.labelsize": 29,
        "text.usetex": True,
        "axes.facecolor": "#123456",
        "savefig.facecolor": "#654321",
        "lines.linewidth": 9,
        "svg.fonttype": "path",
        "figure.figsize": (20, 20),
    }
    with matplotlib.rc_context(odd):
        before = dict(matplotlib.rcParams)
        assert canvas.svg(DRAW()) == plain
        assert dict(matplotlib.rcParams) == before
        with pytest.raises(UsageError):
            plots.lines(TABLE, "absent", "y", "of")
        assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError) as error:
        DRAW()
    assert str(error.value) == "figures need matplotlib: pip install 'pgcjax[plots]'"


def test_panels_in_a_row_and_below():
    figure, axes = canvas.panels(3, columns=2, height=1.5)
    assert figure.get_size_inches().tolist() == [3.3, 3.0] and len(axes) == 3
    assert len(figure.axes) == 4 and not figure.axes[3].axison


def test_one_legend_where_names_look_alike():
    few = TABLE[TABLE["of"] != "c"]
    same = canvas.grid({"(a)": DRAW, "(b)": partial(DRAW.func, few, "p", "y", "of")})
    check_legible(same)
    (legend,) = same.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]
    assert not any(axes.get_legend() for axes in same.axes)
    titles = [axes.get_title(loc="left") for axes in same.axes]
    assert titles == ["(a)", "(b)"]
    # The second is drawn in another colour there: one legend would be wrong.
    other = TABLE[TABLE["of"] != "a"]
    apart = canvas.grid({"(a)": DRAW, "(b)": partial(DRAW.func, other, "p", "y", "of")})
    assert not apart.legends and all(axes.get_legend() for axes in apart.axes)


def test_a_single_line_needs_no_legend_and_many_get_room():
    def tall(count):
        table = pd.concat([TABLE[:4].assign(of=f"m{i}") for i in range(count)])
        figure = plots.lines(table, "p", "y", "of")
        check_legible(figure)
        return figure.get_figheight(), len(figure.legends)

    assert tall(1) == (2.0, 0)
    assert tall(20)[0] > tall(4)[0] > tall(2)[0] > 2.0


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png", ".SVG"])
def test_equal_figures_are_equal_files(tmp_path, suffix):
    one = canvas.save(DRAW(), tmp_path / f"one{suffix}")
    two = canvas.save(DRAW(), tmp_path / f"two{suffix}")
    assert one.read_bytes() == two.read_bytes()
    start = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}[suffix.lower()]
    assert one.read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == [one.name, two.name]


def test_letters_of_svg_files_are_text():
    text = canvas.svg(plots.points([1, 2], [3, 4], xlabel="$5_off$", ylabel="日本"))
    assert ">$5_off$</text>" in text and ">日本</text>" in text


def test_an_older_file_stays_if_it_cannot_be_replaced(tmp_path, monkeypatch):
    target = tmp_path / "figure.svg"
    target.write_text("older")
    figure = DRAW()
    monkeypatch.setattr(canvas, "rendered", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        canvas.save(figure, target)
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]
    assert target.read_text() == "older"


def test_folders_of_figures(tmp_path):
    folder = tmp_path / "new" / "figures"
    folder.parent.mkdir()
    canvas.save_all({"one": DRAW(), "two.b": DRAW()}, folder)
    assert sorted(p.name for p in folder.iterdir()) == ["one.pdf", "two.b.pdf"]
    (folder / "mine.txt").write_text("mine")
    canvas.save_all({"one": DRAW()}, folder, [".svg"])
    names = sorted(p.name for p in folder.iterdir())
    assert names == ["mine.txt", "one.pdf", "one.svg", "two.b.pdf"]
    with pytest.raises(DataError, match="mine.txt: cannot make this folder"):
        canvas.save_all({"one": DRAW()}, folder / "mine.txt")
    with pytest.raises(UsageError, match="suffix of an output file is one of .pdf"):
        canvas.save_all({}, folder, ".gif")
    with pytest.raises(UsageError, match="suffix of an output file is one of .pdf"):
        canvas.save(DRAW(), folder / "one.gif")
    with pytest.raises(DataError, match="cannot write there"):
        canvas.save(DRAW(), folder / "none" / "one.svg")


@pytest.mark.parametrize(
    ("text", "inches", "expected"),
    [
        ("short", 1, "short"),
        ("", 1, ""),
        ("PGC(p=0.8,graph=combined)", 1.0, "PGC(p=0.8,\ngraph=combined)"),
        ("two long words here", 0.6, "two long\nwords here"),
        ("a" * 30, 1.0, "a" * 8 + "…" + "a" * 7),
    ],
)
def test_texts_are_broken_to_fit(text, inches, expected):
    assert plot_labels.wrapped(text, inches) == expected


def test_names_are_cut_in_their_middle():
    assert plot_labels.shorten("x" * 24) == "x" * 24
    short = plot_labels.shorten("the_same_start_of_all_1", 10)
    assert short == "the_s…ll_1" and len(short) == 10


def test_names_of_panels_leave_them_room():
    square = [[1.0, 0.5], [0.5, 1.0]]
    one = partial(plots.matrix, square, ["a_name_of_many_letters", "b"])
    figure = canvas.grid({"(a)": one, "(b)": one}, height=2.4)
    check_legible(figure)
    assert all(axes.get_window_extent().width > 30 for axes in figure.axes[:2])
    assert any("…" in word for word in words(figure))
