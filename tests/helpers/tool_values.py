"""What other tools say of tables, kept: a version says the same of the same tables.

The tools take longer than all that is compared with them. Their values are kept where
compiled programs are, for as long as the environment of the tests lasts.
"""

import inspect
import json
import os
from collections.abc import Callable, Iterable
from functools import wraps
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

Rows = list[tuple]
"""Run, query, the tool's name of a measure, and its value."""


def kept(*packages: str) -> Callable[[Callable[..., Rows]], Callable[..., Rows]]:
    """Keep the rows that a function has from other packages.

    They are found by the arguments, by the text of the function's file, and by the
    versions of the packages, of numpy and of pandas.
    """

    def decorate(function: Callable[..., Rows]) -> Callable[..., Rows]:
        text = Path(inspect.getfile(function)).read_text(encoding="utf-8")
        made_by = [_version(name) for name in (*packages, "numpy", "pandas")]

        @wraps(function)
        def found(*arguments: Any, **named: Any) -> Rows:
            given = [*map(_content, arguments), *map(_content, sorted(named.items()))]
            parts = repr((function.__name__, text, made_by, given))
            key = sha256(parts.encode()).hexdigest()
            compiled = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
            file = compiled.parent / "tools" / f"{key}.json"
            if file.exists():
                return [tuple(row) for row in json.loads(file.read_text())]
            rows = function(*arguments, **named)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_beside(file, json.dumps(rows, default=float))
            return rows

        return found

    return decorate


def write_beside(file: Path, text: str) -> None:
    """Write a file whole or not at all, whatever other workers do."""
    beside = file.with_suffix(f".{os.getpid()}")
    beside.write_text(text)
    beside.replace(file)


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:  # the test that asks for it skips
        return package


def _content(value: Any) -> Any:
    """Give what tells values apart: of a table, all of it."""
    if isinstance(value, pd.DataFrame):
        rows = pd.util.hash_pandas_object(value, index=False).to_numpy()
        digest = sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()
        return [*value.columns], [*map(str, value.dtypes)], digest
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [*map(_content, value)]
    return str(value)
