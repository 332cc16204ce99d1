"""Leaderboards: ranks, intervals, marks; on a terminal, in a paper, for programs."""

import io
import re

import numpy as np
import pandas as pd
from rich.console import Console

import pgcjax
from pgcjax.io.text_tables import digits_of, latex, latex_text, markdown, text_table
from pgcjax.reporting.leaderboard import Leaderboard, leaderboard, show
from pgcjax.stats.scores import Scores

ODD = r"a_b%#&{}~^\ $5|<x>--`''*[1]"


def scores(values: dict[str, list[float]], measure: str = "PGC") -> Scores:
    """Scores of runs on queries 0, 1, …; NaN is a query that a run lacks."""
    rows = [
        (run, f"q{i}", measure, value)
        for run, row in sorted(values.items())
        for i, value in enumerate(row)
        if value == value
    ]
    return Scores(
        pd.DataFrame(rows, columns=["run_id", "query_id", "measure", "value"])
    )


def printed(board: Leaderboard, width: int = 100, encoding: str = "utf-8") -> list[str]:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding)
    show(board, Console(file=out, width=width))
    out.flush()
    return [line.rstrip() for line in raw.getvalue().decode(encoding).splitlines()]


def test_runs_by_their_mean_with_an_interval():
    board = leaderboard(scores({"low": [0.1, 0.2], "high": [0.8, 0.9]}))
    # t(0.975, 1) * sd / sqrt(2) = 12.7062 * 0.0707107 / 1.41421 = 0.635310
    low, high = f"{0.15 - 0.635310:.2f}", f"{0.85 + 0.635310:.2f}"
    assert printed(board) == [
        "2 runs by PGC",
        "┏━━━┳━━━━━━┳━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓",
        f"┃ # ┃ run  ┃    PGC ┃ 95 % interval, {low} to {high}   ┃",
        "┡━━━╇━━━━━━╇━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┩",
        "│ 1 │ high │ 0.8500 │           ├─────────●────────┤ │",
        "│ 2 │ low  │ 0.1500 │ ├────────●─────────┤           │",
        "└───┴──────┴────────┴────────────────────────────────┘",
    ]
    plain = printed(board, encoding="ascii")
    assert "|---------o--------|" in plain[4] and not {*"●├│"} & {*"".join(plain)}


def test_equal_means_share_a_rank_and_what_is_missing_comes_last():
    nan = float("nan")
    table = pd.concat(
        [
            scores({"b": [0.5], "a": [0.5], "c": [0.2]}).table,
            scores({"a": [1.0], "b": [nan], "c": [0.00001]}, "AP").table,
        ]
    )
    board = leaderboard(Scores(table))
    assert board.runs.to_numpy().tolist() == [[1, "a"], [1, "b"], [3, "c"]]
    names = [f"{m}{end}" for m in ("PGC", "AP") for end in ("", "_low", "_high")]
    assert list(board.table) == ["rank", "run_id", *names]
    np.testing.assert_array_equal(board.table["AP_low"], [1.0, nan, 0.00001])
    lines = printed(board)
    assert [re.findall(r"[\d.e—-]{5,}|— ", line) for line in lines[4:7]] == [
        ["0.5000", "1.0000"],
        ["0.5000", "— "],
        ["0.2000", "1.0e-05"],
    ]
    assert "".join(lines).count("●") == 3
    last = leaderboard(Scores(table.iloc[::-1]))  # by AP, which run b lacks
    assert last.runs.to_numpy().tolist() == [[1, "a"], [2, "c"], [3, "b"]]


def test_numbers_of_a_column_have_enough_digits():
    for most, digits in ((0.5, 4), (33.0, 4), (0.01, 4), (0.004, 5), (1e-20, 9)):
        assert digits_of(pd.Series([0.0, -most, float("nan")])) == digits
    assert digits_of(pd.Series([0.0, float("nan")])) == 4


def test_counts_are_whole_numbers():
    """Sums of what is counted; a mean that was asked for has its decimals."""
    values = {"a": [3.0, 4.0], "b": [2.0, 0.0]}
    for measure, cells in (
        ("NumRet", ["7", "2"]),
        ("prefs_num_prefs_ful(bad=false)", ["7", "2"]),
        ("NumRet(mean=arithmetic)", ["3.5000", "1.0000"]),
        ("DCG", ["3.5000", "1.0000"]),
    ):
        counted = scores(values, measure)
        text = leaderboard(counted).text_table()
        column = next(c for c in text.columns if c.name == measure)
        assert column.cells == cells
        lines = [line.rpartition("\t")[2] for line in counted.lines(True)][1:]
        whole = cells[0] == "7"
        assert lines[0] == ("3" if whole else "3.0000")
        assert [lines[2], lines[5]] == cells


def test_a_narrow_terminal_cuts_no_number():
    long = "a-run-with-a-very-long-name"
    table = pd.concat(
        [
            scores({long: [0.5, 0.6], "b": [0.1, 0.2]}, measure).table
            for measure in ("PGC(p=0.8,graph=combined)", "AP", "nDCG@10")
        ]
    )
    board = leaderboard(Scores(table))
    assert max(map(len, printed(board, 80))) <= 80
    text = printed(board, 60)
    assert max(map(len, text)) <= 60
    assert text[-1] == "No room for intervals; --format csv has them"
    assert " PGC(p=0.8, ┃" in text[2] and "graph=combined) ┃" in text[3]
    text = printed(board, 50)
    assert max(map(len, text)) <= 50
    assert text[-1] == "Not shown, for lack of space: nDCG@10"
    name = "".join(line.split("│")[2].strip() for line in text if "│" in line)
    assert name == f"{long}b"
    assert sum(line.count("0.5500") for line in text) == 2


def test_the_best_of_many():
    many = scores({f"r{i:03}": [i / 1000, i / 900] for i in range(1000)})
    board = leaderboard(many).top(3)
    lines = printed(board)
    assert lines[0] == "The best 3 of 1000 runs by PGC"
    assert lines[-1] == "--top 1000 shows all 1000 runs"
    assert board.runs["run_id"].tolist() == ["r999", "r998", "r997"]
    assert r"\caption{The best 3 of 1000 runs by PGC." in latex(board.text_table())
    assert leaderboard(many).top(1000).total == len(leaderboard(many).top(None).runs)


def test_ranges_of_ranks_say_what_the_pairs_say():
    """Of more than 12 groups; a pair is in a range exactly if it does not differ."""
    random = np.random.default_rng(0)
    noise = random.normal(0, random.uniform(0.05, 1, (30, 1)), (30, 20))
    many = scores({f"r{i:02}": list(i / 20 + noise[i]) for i in range(30)})
    found = pgcjax.compare(many, test="t", correction="none")
    board = leaderboard(found)
    assert board.marked == "same as"
    assert board.notes == (
        "same as: ranks of the runs that do not differ significantly "
        "(t, uncorrected, 435 comparisons, 20 queries, α = 0.05)",
    )
    different = {
        frozenset(pair)
        for pair in found.table[found.table["significant"]][["run_a", "run_b"]].values
    }
    runs, texts = board.runs["run_id"].tolist(), board.marks["PGC"].tolist()
    assert all(any(part in text for text in texts) for part in ("–", ", ", " of "))
    for run, text in zip(runs, texts, strict=True):
        alike = [i + 1 for i, b in enumerate(runs) if {run, b} not in different]
        count, _, hull = text.rpartition(" of ")
        ranges = [part.split("–") for part in hull.split(", ")]
        ranks = [r for a, *b in ranges for r in range(int(a), int((b or [a])[0]) + 1)]
        if count:
            ranks, alike = (
                [len(alike), ranks[0], ranks[-1]],
                [int(count), alike[0], alike[-1]],
            )
        assert ranks == alike
    assert f"& \\textsuperscript{{{texts[0].replace('–', '--')}}} &" in latex(
        board.text_table()
    )


def test_letters_and_arrows():
    noise = np.random.default_rng(1).normal(0, 0.02, (4, 12))
    levels = {"best": 0.9, "good": 0.6, "same": 0.6, "worst": 0.1}
    table = scores(
        {r: list(x + n) for (r, x), n in zip(levels.items(), noise, strict=True)}
    )
    board = leaderboard(pgcjax.compare(table, test="t"))
    ordered = board.runs["run_id"].tolist()
    assert board.marks["PGC"].tolist() == ["a", "b", "b", "c"]
    arrows = leaderboard(pgcjax.compare(table, test="t", baselines="good"))
    assert dict(zip(ordered, arrows.marks["PGC"], strict=True)) == {
        "best": "↑",
        "good": "",
        "same": "",
        "worst": "↓",
    }
    how = "↑ significantly better, ↓ worse than good "
    how += "(t, Holm, 3 comparisons, 12 queries, α = 0.05)"
    assert arrows.notes == (how,)
    two = {"test": "t", "baselines": ["good", "worst"], "correction": "holm"}
    two = {**two, "alpha": 0.01}
    found = [pgcjax.compare(table, **two)]
    other = Scores(table.table.assign(measure="AP", value=-table.table["value"]))
    found.append(pgcjax.compare(other, **two))
    board = leaderboard(found)
    marks = board.marks.set_index(board.runs["run_id"])
    assert marks.loc["best"].tolist() == ["↑ab", "↓ab"]
    assert marks.loc["good"].tolist() == ["↑b", "↓b"]  # though the pair is there once
    assert marks.loc["worst"].tolist() == ["↓a", "↑a"]
    assert board.level == 99.0
    assert board.notes == (
        "↑ significantly better, ↓ worse than a = good, b = worst "
        "(t, Holm, 5 comparisons, 12 queries, α = 0.01)",
    )
    assert list(board.metadata) == ["comparisons"]


def cells(row: str) -> list[str]:
    """Take a row of LaTeX apart, at each & that is none of the text."""
    return [cell.strip() for cell in re.split(r"(?<!\\)&", row.removesuffix(r"\\"))]


def test_latex_for_a_paper():
    """What LaTeX needs is there: nothing else in names is a command of it."""
    assert latex_text(ODD) == (
        r"a\_b\%\#\&\{\}\textasciitilde{}\textasciicircum{}\textbackslash{} "
        r"\$5\textbar{}\textless{}x\textgreater{}-{}-\textasciigrave{}'{}'*[1]"
    )
    values = {ODD: [0.8, 0.9, 0.7], "b": [0.1, 0.3, 0.2], "*c": [0.8, 0.9, 0.7]}
    board = leaderboard(pgcjax.compare(scores(values), test="t", baselines="b"))
    top, centering, caption, begin, *rows, bottom, end, last = latex(
        board.text_table()
    ).split("\n")
    assert (top, last) == (r"\begin{table}", r"\end{table}")
    assert centering == r"  \centering"
    assert caption == (
        r"  \caption{3 runs by PGC. $\uparrow$ significantly better, $\downarrow$ "
        r"worse than b (t, Holm, 2 comparisons, 3 queries, $\alpha$ = 0.05). "
        r"Intervals: Student's t over queries.}"
    )
    assert begin == r"  \begin{tabular}{rlr@{}lr}" and end == r"  \end{tabular}"
    assert (rows[0], rows[2], bottom) == (
        r"    \toprule",
        r"    \midrule",
        r"    \bottomrule",
    )
    head, *body = [cells(row.strip()) for row in (rows[1], *rows[3:])]
    assert head == [r"\#", "run", r"\multicolumn{2}{c}{PGC}", r"95 \% interval"]
    up = r"\textsuperscript{$\uparrow$}"
    assert body == [
        ["1", "*c", r"\textbf{0.8000}", up, "[0.5516, 1.0484]"],
        ["1", latex_text(ODD), r"\textbf{0.8000}", up, "[0.5516, 1.0484]"],
        ["3", "b", "0.2000", "", "[$-$0.0484, 0.4484]"],
    ]
    # A row that begins so would be an option of the line before it.
    table = latex(
        text_table(
            pd.DataFrame({"x": ["[1]", "*", "-y"], "n": [1, -2e-6, float("nan")]})
        )
    )
    assert [line.strip() for line in table.split("\n")[6:9]] == [
        r"{}[1] & 1.0000 \\",
        r"{}* & $-$2.0e$-$06 \\",
        r"-y & --- \\",
    ]
    assert r"\caption" not in table


def test_markdown_for_a_page():
    board = leaderboard(scores({ODD: [0.25, 0.75], "b": [0.5, 0.5]}))
    odd = r"a\_b%\#\&{}\~^\\ \$5\|\<x\>--\`''\*\[1\]"
    assert markdown(board.text_table()).split("\n") == [
        "2 runs by PGC.",
        "",
        r"| \# | run | PGC | 95 % interval |",
        "| ---: | --- | ---: | ---: |",
        rf"| 1 | {odd} | **0.5000** | \[-2.6766, 3.6766\] |",
        r"| 1 | b | **0.5000** | \[0.5000, 0.5000\] |",
        "",
        "Intervals: Student's t over queries.",
    ]
