"""The picture of a page of `pgcjax report`, by `python -m scripts.site.screenshot`.

`scripts/docs` does so each time, so that the picture is of the page as it is.
"""

import sys
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.errors import DataWarning
from pgcjax.io.runs import Options, open_runs
from pgcjax.io.write import written_beside
from pgcjax.reporting import interactive, judged_queries
from pgcjax.reporting.score_findings import find
from pgcjax.reporting.score_reasons import explain_scores
from scripts.site.browser import chromium

PICTURE = Path(__file__).parents[2] / "docs/assets/report.png"
_SIZE = {"width": 1140, "height": 760}


def take(target: Path = PICTURE) -> None:
    """Write a picture of why the best run of the demo has its score on a query.

    Raises:
        RuntimeError: there is no browser.
    """
    with chromium() as browser, TemporaryDirectory() as folder:
        file, address = _page(Path(folder) / "report.html")
        page = browser.new_page(viewport=_SIZE, color_scheme="light")
        page.goto(f"{file.as_uri()}#{address}")
        page.wait_for_selector("html[data-ready] #detail .doc")
        target.parent.mkdir(exist_ok=True)
        with written_beside(target) as beside:
            beside.write_bytes(page.screenshot())


def _page(file: Path) -> tuple[Path, str]:
    """Write a page about the demo collection; return it, and the address of a score."""
    demo = demo_folder()
    judgments = {
        "preferences": pgcjax.files.read_preferences(demo / "preferences.csv"),
        "qrels": pgcjax.files.read_qrels(demo / "qrels.txt"),
    }
    runs = partial(open_runs, demo / "runs", Options())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        scores = pgcjax.evaluate(runs(), measures=["PGC", "Compat"], **judgments)
    findings = find(scores, test="t")
    judged = judged_queries.read(
        findings.queries, findings.runs, **judgments, runs=runs()
    )
    explainer = partial(pgcjax.rankings.Explainer, judgments=judgments)
    reasons = explain_scores(findings, lambda m: explainer(measure=m), runs, cells=1)
    (_, run, query), *_ = reasons.cells
    beside = {"judged": judged, "reasons": reasons, "title": "Demo"}
    return interactive.write(findings, file, **beside), f"query={query}&run={run}"


if __name__ == "__main__":
    try:
        take()
    except RuntimeError as error:
        print(f"{PICTURE.name} is left as it is: {error}", file=sys.stderr)
