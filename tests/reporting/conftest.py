"""A headless browser, for what pages do there."""

import shutil

import pytest

_ALONE = (  # it asks nobody for anything, whatever the page does
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, one for a file of tests; `scripts/test` installs it."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright: pip install '.[dev]'"
    )
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=chromium, args=list(_ALONE))
        yield one
        one.close()
