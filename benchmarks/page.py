"""The page of `pgcjax report`: its size, and how fast a browser opens it.

    python -m benchmarks page -o benchmarks/results/page-cpu.json

Of Deep Learning 2021, where it is, and of made-up runs; both with explanations.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import packed
from benchmarks.harness import Report, child
from scripts.site.browser import chromium

RUNS, QUERIES, DOCUMENTS = 1000, 200, 40
DL21 = ("PGC", "Compat", "nDCG@10", "AP", "RR")
MADE_UP = tuple(f"PGC(p={p})" for p in (0.8, 0.9, 0.95, 0.98, 0.99))
COLUMNS = ["", "MB", "table of runs painted, s", "whole page, s"]


def run(
    report: Report,
    data: Path | None = None,
    shape: tuple[int, int, int] = (RUNS, QUERIES, DOCUMENTS),
) -> None:
    """Write pages as users do, and open each in a browser; the fastest rounds count."""
    rows: list[list[Any]] = []
    with TemporaryDirectory(prefix="pgcjax-bench-") as name, chromium() as browser:
        folder = Path(name)
        # No run is that of another one again, which would take less room.
        made_up, prefs = packed.write(folder, *shape, block=shape[0])
        cases = {
            f"made up, {shape[0]} runs × {shape[1]} queries": (
                _page(folder, MADE_UP, ["--test", "t"], made_up, "--prefs", prefs)
            )
        }
        if data and (dl21 := data / "dl21").is_dir():
            judged = "--prefs", dl21 / "judgments.txt.gz"
            judged += "--qrels", dl21 / "qrels.dl21-passage.txt.gz"
            cases["Deep Learning 2021"] = _page(
                folder, DL21, [], dl21 / "runs", *judged
            )
        for title, file in cases.items():
            times = [opened(browser, file) for _ in range(report.rounds)]
            fastest = [min(one) / 1000 for one in zip(*times, strict=True)]
            rows.append([title, file.stat().st_size / 1e6, *fastest])
    title = f"page with explanations, fastest of {report.rounds} (from navigation)"
    report.table(title, COLUMNS, rows)


def _page(
    folder: Path,
    measures: tuple[str, ...],
    options: list[str],
    runs: Path,
    *judged: Any,
) -> Path:
    scores, page = folder / f"{runs.stem}-s.parquet", folder / f"{runs.stem}.html"
    chosen = [word for measure in measures for word in ("-m", measure)]
    child("-m", "pgcjax", "evaluate", runs, *judged, *chosen, "-o", scores)
    beside = *judged, "--runs", runs
    child("-m", "pgcjax", "report", scores, *beside, *options, "-o", page)
    return page


def opened(browser: Any, file: Path) -> tuple[float, float]:
    """Open a page in a new window; return milliseconds from the start of navigation.

    Returns:
        Until the table of runs was painted, and until all of the page was drawn.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(
        """new MutationObserver(() => {
        if (document.documentElement?.dataset.ready) window.whole ??= performance.now();
        }).observe(document, {attributes: true, childList: true, subtree: true})"""
    )
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    times = page.evaluate(
        "[performance.getEntriesByName('painted')[0].startTime, window.whole]"
    )
    context.close()
    return tuple(times)
