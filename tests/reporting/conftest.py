"""A headless browser, for what pages do there."""

import pytest


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, one for a file of tests; `scripts/test` installs it."""
    module = pytest.importorskip("scripts.site.browser", reason="not in a checkout")
    started = module.chromium()
    try:
        one = started.__enter__()
    except RuntimeError as error:
        pytest.skip(str(error))
    yield one
    started.__exit__(None, None, None)
