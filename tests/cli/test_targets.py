"""What a verb writes: nothing that it reads, nothing of others, and where it can."""

import errno
import os

import pytest

from pgcjax.io import nest as nests

PREFS = ("--prefs", "prefs.txt")
SCORES = "run_id,query_id,measure,value\n" + "".join(
    f"{run},{query},{measure},{(i * 7 + len(run) + len(measure)) % 10 / 10}\n"
    for run in ("a", "bb", "ccc")
    for i, query in enumerate("1234")
    for measure in ("PGC", "Compat")
)


@pytest.fixture
def files(here):
    """Inputs under many names: links, a folder, packed runs, image grids."""
    names = ("page-figures/a.svg", "p-figures/a.pdf", "dir/a.pdf")
    for name in ("scores.csv", "x.csv.partial", *names):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(SCORES)
    (here / "soft.csv").symlink_to("scores.csv")
    os.link(here / "scores.csv", here / "hard.csv")
    (here / "runs").mkdir()
    run = "query_id,doc_id,score,run_id\nq1,a,1,r\nq2,a,1,r\n"
    (here / "runs" / "r.csv").write_text(run)
    (here / "context.csv").write_text("query_id,doc_id,previous_doc_id,relevance\n")
    (here / "y.csv.partial").mkdir()
    (here / "y.csv.partial" / "run.csv").write_text(run)
    return here


def contents(folder) -> dict:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.is_symlink()) for path in files}


@pytest.mark.parametrize(
    ("line", "target", "source"),
    [
        ("evaluate --prefs prefs.txt runs/r.csv -o runs/r.csv", "runs/r.csv", None),
        ("evaluate --prefs prefs.txt runs -o runs/r.csv", "runs/r.csv", None),
        ("evaluate --prefs prefs.txt r*s/*.csv -o ./runs/../runs/r.csv", None, None),
        ("evaluate --prefs scores.csv run.txt -o hard.csv", "hard.csv", "scores.csv"),
        ("evaluate --qrels soft.csv run.txt -o scores.csv", "scores.csv", "soft.csv"),
        ("evaluate --prefs prefs.txt y.csv.partial -o y.csv", "y.csv", "run.csv"),
        ("evaluate --prefs x.csv.partial run.txt -o x.csv", "x.csv", None),
        ("files merge scores.csv hard.csv -o soft.csv", "soft.csv", "scores.csv"),
        ("files pack runs/r.csv -o {0}.parquet", "{0}.parquet", "{0}.parquet"),
        ("compare scores.csv -o soft.csv", "soft.csv", "scores.csv"),
        ("compare scores.csv --runs-output hard.csv", "hard.csv", "scores.csv"),
        ("measures discriminate scores.csv -o scores.csv", "scores.csv", "scores.csv"),
        (
            "measures agree scores.csv --serp soft.csv -o hard.csv",
            "hard.csv",
            "scores.csv",
        ),
        ("correlate scores.csv -o scores.csv", "scores.csv", "scores.csv"),
        ("report page-figures/a.svg -o page.md", "page.md", "page-figures/a.svg"),
        ("report p-figures/a.pdf -o p.html", "p.html", "p-figures/a.pdf"),
        ("report dir/a.pdf -o p.md --figures pdf=dir", "dir", "dir/a.pdf"),
        ("judgments agree --prefs scores.csv -o soft.csv", "soft.csv", "scores.csv"),
        (
            "judgments enough --prefs scores.csv run.txt -o soft.csv",
            "soft.csv",
            "scores.csv",
        ),
        (
            "judgments next --prefs scores.csv run.txt -o soft.csv",
            "soft.csv",
            "scores.csv",
        ),
        ("rankings rbo run.txt --against runs/r.csv -o runs/r.csv", "runs/r.csv", None),
        (
            "judgments predict --qrels qrels.txt --context context.csv -o context.csv",
            None,
            None,
        ),
    ],
)
def test_no_input_is_overwritten(pgcjax, files, line, target, source):
    if "{0}" in line:  # no text file may be called so
        os.rename("runs/r.csv", "runs/r.parquet")
        line, target = "files pack runs/r.parquet -o runs/r.parquet", "runs/r.parquet"
        source = target
    before = contents(files)
    done = pgcjax(*line.split())
    target = target or line.split()[-1]
    assert (done.code, done.out) == (2, "")
    said = f"pgcjax: error: {target}: would overwrite "
    assert done.err.startswith(said)
    rest = ", which this call reads; name another file\n"
    assert done.err.endswith(f"{source or ''}{rest}")
    assert contents(files) == before


@pytest.mark.parametrize("other", ["out.csv", "./none/../OUT.csv", "link.csv"])
def test_no_file_is_written_twice(pgcjax, files, other):
    (files / "link.csv").symlink_to("out.csv")
    line = ["compare", "scores.csv", "-m", "PGC", "-o", "out.csv"]
    done = pgcjax(*line, "--runs-output", other)
    said = f"pgcjax: error: out.csv and {other} are one file: name two\n"
    assert done == (2, "", said)


@pytest.mark.parametrize(
    "line",
    [
        "evaluate --prefs prefs.txt run.txt -o",
        "files merge scores.csv -o",
        "files pack run.txt -o",
        "compare scores.csv -o",
        "compare scores.csv --runs-output",
        "report scores.csv -o",
        "files simulate -o",
        "demo -o",
        "rankings rbo run.txt two.txt -o",
    ],
)
def test_where_nothing_can_be_written(pgcjax, files, monkeypatch, line):
    """Said before anything is read: these files would be refused."""
    for name in ("prefs.txt", "run.txt", "two.txt", "scores.csv"):
        (files / name).write_text("\0")
    before = contents(files)
    name = line.split()[-1]
    suffix = {"pack": ".parquet", "page": ".md"}.get(
        "page" if "report" in line else line.split()[1], ".csv"
    )
    target = "new" if "simulate" in line else f"new{suffix}"
    assert pgcjax(*line.split(), "") == (
        2,
        "",
        f"pgcjax: error: {name}: expected a path, found ''\n",
    )

    def refuse(*args, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(nests.tempfile, "mkdtemp", refuse)
    said = "cannot write there: Read-only file system. Name a file in a folder that "
    done = pgcjax(*line.split(), target)
    assert (done.code, done.out) == (2, "")
    assert said in done.err and done.err.count("\n") == 1
    assert contents(files) == before


def test_names_that_no_file_can_have(pgcjax, here):
    for name, said in (
        ("x" * 300 + ".csv", "cannot write there: File name too long. Name a file in"),
        ("run.txt/x.csv", "cannot write there: Not a directory. Name a file in a fold"),
        ("/proc/x.csv", "cannot write there: No such file or directory. Name a file"),
    ):
        done = pgcjax("evaluate", *PREFS, "run.txt", "-o", name)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"pgcjax: error: {name}: {said}"), done.err


def test_links_are_followed(pgcjax, here):
    (here / "store").mkdir()
    (here / "store" / "old.csv").write_text("old")
    (here / "old.csv").symlink_to("store/old.csv")
    (here / "new.csv").symlink_to("store/new.csv")  # which is not there yet
    (here / "lost.csv").symlink_to("none/lost.csv")
    (here / "loop.csv").symlink_to("loop.csv")
    for name in ("old.csv", "new.csv"):
        assert pgcjax("evaluate", *PREFS, "run.txt", "-o", name).code == 0
        assert (here / name).is_symlink()
        assert (here / "store" / name).read_text().startswith("# pgcjax {")
    assert sorted(path.name for path in (here / "store").iterdir()) == [
        "new.csv",
        "old.csv",
    ]
    done = pgcjax("evaluate", *PREFS, "run.txt", "-o", "lost.csv")
    said = (
        "pgcjax: error: lost.csv: cannot write there: No such file or directory. Name"
    )
    assert done[:2] == (2, "") and done.err.startswith(said)
    done = pgcjax("evaluate", *PREFS, "run.txt", "-o", "loop.csv")
    assert done.code == 2 and "Too many levels of symbolic links" in done.err


@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_files_of_others_beside_the_output(pgcjax, files, resume):
    """In FILE.partial: they stay, and no work is kept among them."""
    away = "Move it away, or name another output file or journal.\n"
    line = ["evaluate", *PREFS, "run.txt", *resume, "-o"]
    compare = ["compare", "scores.csv", "-m", "PGC", *resume, "-o"]
    folder = files / "z.csv.partial"
    folder.mkdir()
    for name, text in (
        ("0-1.npz", "mine"),
        ("my-data.npz", "mine"),
        ("job.json", '{"name": "mine"}'),
    ):
        (folder / name).write_text(text)
        before = contents(files)
        for verb in (line, compare):
            assert pgcjax(*verb, "z.csv") == (
                2,
                "",
                f"pgcjax: error: z.csv.partial: has {name!r}, which pgcjax did not "
                "write, or which is damaged: finished work would be stored there. "
                f"{away}",
            )
        assert contents(files) == before
        (folder / name).unlink()
    (files / "x.csv.partial").write_text("mine")
    for verb in (line, compare):
        assert pgcjax(*verb, "x.csv") == (
            2,
            "",
            "pgcjax: error: x.csv.partial: finished work cannot be stored there: Not a "
            f"directory. {away}",
        )
    # Work of pgcjax is dropped; a hidden file stays.
    (folder / "job.json").write_text('{"version": "0.0.1"}')
    (folder / ".DS_Store").write_text("")
    left = folder / ".0-1.npz.abc_d3fg"
    left.mkdir()
    (left / nests._LOCK).touch()
    done = pgcjax(*line, "z.csv")
    if resume:
        assert done.code == 2 and "of another job: it differs in version" in done.err
    else:
        assert done.code == 0 and os.listdir(folder) == [".DS_Store"]
