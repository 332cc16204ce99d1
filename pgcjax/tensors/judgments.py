"""Canonical tables of judgments, and what measures share that is made of them."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class Judgments(Mapping[str, Any]):
    """Canonical tables of judgments by kind, and what measures made of them.

    Measures that need the same of a table share it: it is made once.
    """

    def __init__(self, tables: Mapping[str, Any]):
        self._tables = dict(tables)
        self._made: dict[tuple[Any, ...], Future] = {}
        self._lock = Lock()

    def __getitem__(self, kind: str) -> Any:
        return self._tables[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def once(self, make: Callable[..., T], *kinds: str, **options: Any) -> T:
        """Call `make` with some tables and options, or give what it made before.

        Any thread may ask; while one makes something, others that need it wait.
        """
        key = make, kinds, tuple(sorted(options.items()))
        with self._lock:
            new = key not in self._made
            made = self._made.setdefault(key, Future())
        if new:
            try:
                made.set_result(make(*(self[kind] for kind in kinds), **options))
            except BaseException as error:
                made.set_exception(error)
        return made.result()
