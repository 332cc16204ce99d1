"""What commands print and write, kept and compared: `python -m benchmarks.bits`.

    python -m benchmarks.bits save FOLDER              # at the commit before a change
    python -m benchmarks.bits compare FOLDER           # at the commit after it
    python -m benchmarks.bits compare FOLDER --only dl21 --only asking

Each case is a command over the public collections or the demo collection. What it
prints on stdout, and what it writes, must be equal byte for byte; notes on stderr that
differ are listed, and are no failure.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("PGCJAX_SHARED", ROOT.parent / "shared")).resolve()

DATA = SHARED / "data"
DEMO = ROOT / "pgcjax" / "datasets" / "collection"
DL21 = DATA / "dl21"
CAST = DATA / "cast2019"
WEB = DATA / "web-diversity"
XIE = DATA / "xie2020"

_DL21 = f"{DL21}/runs --prefs {DL21}/judgments.txt.gz"
_DL21_BOTH = f"{_DL21} --qrels {DL21}/qrels.dl21-passage.txt.gz"
_CAST = f"{CAST}/runs --name-by file --prefs {CAST}/clarke-prefs/TREC-CAsT-2019.pref.gz"
_DEMO_PREFS = f"--prefs {DEMO}/preferences.csv"
_DEMO = f"{DEMO}/runs {_DEMO_PREFS} --qrels {DEMO}/qrels.txt"
_PGCS = "PGC,PGC(graph=derived),PGC(graph=combined),Compat,ExactPGC,PGC(p=0.8)"

CASES = {
    "dl21-all": f"evaluate {_DL21_BOTH} -m all --format json -o OUT/scores.csv",
    "dl21-clarke": f"evaluate {_DL21_BOTH} -m {_PGCS},AP --order clarke -o "
    "OUT/scores.csv",
    "dl21-rank": f"evaluate {_DL21_BOTH} -m {_PGCS},AP --order rank -o OUT/scores.csv",
    "dl21-float32": f"evaluate {_DL21_BOTH} -m {_PGCS},AP --order trec-float32 -o "
    "OUT/scores.csv",
    "dl21-verify": f"evaluate {_DL21_BOTH} -m official,PGC --verify 0.02 -o "
    "OUT/s.jsonl",
    "dl21-means": f"evaluate {_DL21_BOTH} -m PGC,nDCG@10 --means-only -o "
    "OUT/scores.csv",
    "dl21-gpt": f"evaluate {DL21}/runs --prefs {DL21}/both-orders/gpt4o.tsv.gz "
    "-m PGC -o OUT/scores.csv",
    "cast-all": f"evaluate {_CAST} --qrels {CAST}/qrels/2019qrels.txt.gz -m all "
    "--format json -o OUT/scores.csv",
    "cast-skip": f"evaluate {_CAST} -m PGC --missing skip -o OUT/scores.csv",
    "web-all": f"evaluate {WEB}/runs --name-by file "
    f"--intent-qrels {WEB}/qrels/2010.diversity.qrels.gz "
    f"--intent-qrels {WEB}/topics/wt2010.topics.xml.gz -m all -o OUT/scores.csv",
    "xie-all": f"evaluate {XIE}/Image_position.json --run-format grids "
    f"--prefs {XIE}/image_pairs_annotation --prefs-format xie -m all --format json "
    "-o OUT/scores.csv",
    "demo-all": f"evaluate {_DEMO} --intent-qrels {DEMO}/diversity.qrels.txt "
    f"--intent-qrels {DEMO}/intents.csv -m all --format json -o OUT/scores.csv",
    "demo-grids": f"evaluate {DEMO}/grid.csv --run-format grids "
    f"--qrels {DEMO}/qrels.txt {_DEMO_PREFS} -m all --format json -o OUT/scores.csv",
    "demo-text": f"evaluate {_DEMO} -m PGC,nDCG@10 -q --format text",
    "demo-latex": f"evaluate {_DEMO} -m PGC,nDCG@10,AP --format latex",
    "uncertain-votes": f"uncertainty {_CAST} --replicates 200 --format json "
    "-o OUT/s.csv --pairs-output OUT/p.csv --replicates-output OUT/r.csv",
    "uncertain-both": f"uncertainty {_DL21_BOTH} -m PGC,PGC(graph=combined) "
    "--replicates 100 "
    "--resample both --interval bc --format json --pairs-output OUT/p.csv",
    "uncertain-queries": f"uncertainty {_DL21_BOTH} -m PGC,nDCG@10 --replicates 100 "
    "--resample queries --format json",
    "uncertain-single": f"uncertainty {_DEMO} -m PGC --replicates 100 "
    "--score-intervals OUT/i.csv --format json",
    "uncertain-judges": f"uncertainty {_DEMO} -m PGC --replicates 100 --resample "
    "judges "
    "--format json",
    "left-out-judges": f"uncertainty {_DEMO} -m PGC --leave-out judges --format json",
    "left-out-runs": f"uncertainty {_DEMO} -m PGC --leave-out runs@10 "
    "--format json "
    "--pairs-output OUT/p.csv",
    "compare": "compare SCORES -m PGC --format json -o OUT/t.csv",
    "compare-t": "compare SCORES -m nDCG@10 --test t --format json -o OUT/t.csv",
    "compare-permutation": "compare SCORES -m PGC --test permutation --correction none "
    "--format json -o OUT/t.csv",
    "compare-bootstrap": "compare SCORES -m PGC --test bootstrap --correction none "
    "--format json -o OUT/t.csv",
    "compare-tukey": "compare SCORES -m PGC --test tukey --format json -o OUT/t.csv",
    "discriminate": "measures discriminate SCORES -m PGC,nDCG@10,AP --format json",
    "discriminate-t": "measures discriminate SCORES -m PGC,nDCG@10,AP --test t --show "
    "pairs --format csv",
    "intuitiveness": "measures discriminate SCORES -m PGC,nDCG@10 --gold AP "
    "--format csv",
    "agree-measures": "measures agree SCORES -m PGC,nDCG@10,AP --format csv",
    "correlate": "correlate SCORES -m PGC,nDCG@10,AP --format json",
    "report": "report SCORES -m PGC,nDCG@10 -o OUT/report.html",
    "audit": f"judgments audit {_DEMO_PREFS} -o OUT/a.csv",
    "audit-dl21": f"judgments audit --prefs {DL21}/both-orders/gpt4o.tsv.gz -o "
    "OUT/a.csv",
    "agree": f"judgments agree {_DEMO_PREFS} --qrels {DEMO}/qrels.txt -o OUT/a.csv",
    "fit": f"judgments fit {_DEMO_PREFS} --reliability -o OUT/f.csv --judges-output "
    "OUT/j.csv",
    "fit-dl21": f"judgments fit --prefs {DL21}/judgments.txt.gz -o OUT/f.csv",
    "enough": f"judgments enough {_DEMO} --replicates 50 --format json",
    "next-effect": f"judgments next {_DEMO} --replicates 50 --format csv",
    "next-utility": f"judgments next {DEMO}/runs {_DEMO_PREFS} --by utility "
    "--format csv -o OUT/n.csv "
    "--bounds OUT/b.csv",
    "next-chance": f"judgments next {DEMO}/runs/oak.txt {DEMO}/runs/iris.txt "
    f"{_DEMO_PREFS} --by chance --format csv",
    "judges": f"judgments compare {_DEMO} --format json",
    "explain": f"explain {_DEMO} --run-id rose --query q115 --show steps -o OUT/s.csv",
    "explain-other": f"explain {_DL21} --run-id NLE_P_v1 --other NLE_P_quick -o "
    "OUT/q.csv",
    "explain-turned": f"explain {_DEMO} --run-id rose --show judgments -o OUT/j.csv",
    "rbo": f"rankings rbo {DL21}/runs -o OUT/r.csv",
    "rbo-ties": f"rankings rbo {DL21}/runs -m RBO(ties=a,variant=min) -o OUT/r.csv",
    "prefer": f"rankings prefer {_DL21_BOTH} -o OUT/p.csv",
    "prefer-web": f"rankings prefer {WEB}/runs --name-by file "
    f"--intent-qrels {WEB}/qrels/2010.diversity.qrels.gz -o OUT/p.csv",
    "asking": "ask simulate --documents 10 --queries 8 --errors error=0.1 --format csv "
    "-o OUT/d.csv",
    "simulate": "files simulate --seed 7 -o OUT/made",
    "pack": f"files pack {DEMO}/runs {_DEMO_PREFS} -o OUT/packed.parquet",
    "check": f"files check {_DEMO}",
    "measures": "measures show",
    "measure": "measures ERR@10",
}
SCORES = f"evaluate {_DL21_BOTH} -m PGC,nDCG@10,AP -o"
NO_BYTES = {".parquet"}  # names a version of a library within


@click.group()
def main() -> None:
    """Keep what commands print and write, and compare it."""


_only = click.option(
    "--only", multiple=True, help="Cases whose name begins so; repeat."
)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@_only
def save(folder: Path, only: tuple[str, ...]) -> None:
    """Run the cases, and keep what they print and write."""
    _scores(folder)
    for name in _chosen(only):
        print(f"{name}: exit {_run(name, folder, folder / name)}")


@main.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@_only
def compare(folder: Path, only: tuple[str, ...]) -> None:
    """Run the cases again, and compare."""
    now, unequal = folder.with_name(f"{folder.name}.now.{os.getpid()}"), []
    try:
        for name in _chosen(only):
            if not (folder / name).is_dir():
                continue
            _run(name, folder, now / name)
            differing = _differences(folder / name, now / name)
            print(f"{name}: {'equal' if not differing else ', '.join(differing)}")
            unequal += [name] if any(x != "stderr" for x in differing) else []
    finally:
        shutil.rmtree(now, ignore_errors=True)
    if unequal:
        sys.exit(f"not equal: {', '.join(unequal)}")


def _chosen(only: tuple[str, ...]) -> list[str]:
    return [name for name in CASES if not only or name.startswith(only)]


def _scores(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "scores.csv"
    if not target.exists():
        command = [sys.executable, "-m", "pgcjax", *SCORES.split(), str(target)]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)


def _run(name: str, kept: Path, target: Path) -> int:
    """Run a case, whose outputs go to a folder; return its exit status."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    context = SHARED / "golden" / "preorder.json"
    text = CASES[name].replace("OUT", str(target)).replace("CONTEXT", str(context))
    text = text.replace("SCORES", str(kept / "scores.csv"))
    command = [sys.executable, "-m", "pgcjax", *text.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    for stream in ("stdout", "stderr"):
        plain = getattr(done, stream).replace(str(target), "OUT")
        plain = plain.replace(str(ROOT), "ROOT")
        (target / stream).write_text(f"{plain}exit {done.returncode}\n")
    return done.returncode


def _differences(old: Path, new: Path) -> list[str]:
    names = {
        str(p.relative_to(side))
        for side in (old, new)
        for p in side.rglob("*")
        if p.is_file()
    }
    return sorted(name for name in names if not _equal(old / name, new / name))


def _equal(old: Path, new: Path) -> bool:
    if not (old.exists() and new.exists()):
        return False
    if old.suffix in NO_BYTES:
        return True
    if old.read_bytes() == new.read_bytes():
        return True
    a, b = (_plain(p) for p in (old, new))
    if a == b:
        return True
    for line in list(
        difflib.unified_diff(a.splitlines(), b.splitlines(), n=0, lineterm="")
    )[:12]:
        print(f"    {line[:200]}")
    return False


def _plain(path: Path) -> str:
    """Return a text without times and folders of a moment."""
    text = path.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"\S*(?=/pgcjax/datasets/)", "ROOT", text)
    return re.sub(r"\d+(\.\d+)? ?(s|ms|seconds)\b|\d\d:\d\d(:\d\d)?", "", text)


if __name__ == "__main__":
    main()
