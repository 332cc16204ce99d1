"""Debian's chromium without a window, for what shows, tests or times pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ALONE = (  # it asks nobody for anything, whatever the page does
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser of playwright.

    Raises:
        RuntimeError: there is no playwright, or no chromium; it says what to install.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise RuntimeError("no playwright: pip install '.[dev]'") from None
    path = shutil.which("chromium")
    if path is None:
        raise RuntimeError("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=list(_ALONE))
        yield browser
        browser.close()
