"""Canonical tables of judgments, and what measures share that is made of them."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from pgcjax.io.fast_columns import PlainTable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

T = TypeVar("T")


class Judgments(Mapping[str, Any]):
    """Canonical tables of judgments by kind, and what measures made of them.

    Measures that need the same of a table share it: it is made once.
    """

    def __init__(self, tables: Mapping[str, "pd.DataFrame | PlainTable"]):
        """Take tables, some of which may be DataFrames of pandas only when asked."""
        self._tables = dict(tables)
        self._made: dict[tuple[Any, ...], Future] = {}
        self._lock = Lock()

    def __getitem__(self, kind: str) -> "pd.DataFrame":
        table = self._tables[kind]
        if isinstance(table, PlainTable):
            return self._once((kind,), table.in_pandas)
        return table

    def columns(self, kind: str) -> "pd.DataFrame | pl.DataFrame":
        """Give a table of whichever library has it: its columns, and no more."""
        table = self._tables[kind]
        return table.frame if isinstance(table, PlainTable) else table

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def once(self, make: Callable[..., T], *kinds: str, **options: Any) -> T:
        """Call `make` with some tables and options, or give what it made before.

        Any thread may ask; while one makes something, others that need it wait.
        """
        return self._call(self.__getitem__, make, kinds, options)

    def once_plain(self, make: Callable[..., T], *kinds: str, **options: Any) -> T:
        """Do the same of what `columns` gives."""
        return self._call(self.columns, make, kinds, options)

    def _call(
        self,
        table: Callable[[str], Any],
        make: Callable[..., T],
        kinds: tuple[str, ...],
        options: dict[str, Any],
    ) -> T:
        key = make, kinds, tuple(sorted(options.items()))
        return self._once(key, lambda: make(*map(table, kinds), **options))

    def _once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        with self._lock:
            new = key not in self._made
            made = self._made.setdefault(key, Future())
        if new:
            try:
                made.set_result(make())
            except BaseException as error:
                made.set_exception(error)
        return made.result()
