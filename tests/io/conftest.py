"""Small files to read."""

from pathlib import Path

import pytest


@pytest.fixture
def put(tmp_path):
    """Write a file of the test's folder: text as UTF-8, bytes as they are."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
