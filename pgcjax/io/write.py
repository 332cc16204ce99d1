"""Output appears whole or not at all: written beside its place, then renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgcjax.errors import DataError


@contextmanager
def written_beside(target: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path that takes the place of `target` if the body succeeds.

    The body creates a file or a folder there. A file replaces what `target` was; a
    folder is refused where `target` exists, so that nobody's files are mixed or lost.

    Raises:
        DataError: the folder of `target` is missing or cannot be written, or a folder
            was to be written where something exists.
    """
    target = Path(target)
    name = f".{target.name}."
    try:
        nest = Path(tempfile.mkdtemp(prefix=name, dir=target.parent))
    except OSError as error:
        raise DataError(
            f"cannot write there: {error.strerror}",
            where=str(target),
            mend="Name a file in a folder that exists and that you may write to.",
        ) from None
    try:
        yield nest / target.name
        if (nest / target.name).is_dir() and target.exists():
            raise DataError(
                "exists already", where=str(target), mend="Name a new folder."
            )
        os.replace(nest / target.name, target)
    except OSError as error:
        raise DataError(
            f"cannot write there: {error.strerror}",
            where=str(target),
            mend="What was there is as it was.",
        ) from None
    finally:
        shutil.rmtree(nest, ignore_errors=True)
