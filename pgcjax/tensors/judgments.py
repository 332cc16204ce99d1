"""Canonical tables of judgments, and objects made of them that measures share."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pgcjax.io.fast_columns import PlainTable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

T = TypeVar("T")
_NONE = object()  # value of a parameter that a measure does not have


class Judgments(Mapping[str, Any]):
    """Canonical tables of judgments by kind, and objects that measures made of them.

    Measures that need the same object share it: it is made once.
    """

    def __init__(self, tables: Mapping[str, "pd.DataFrame | PlainTable"]):
        """Take tables, some of which become DataFrames of pandas only on request."""
        self._tables = dict(tables)
        self._made: dict[tuple[Any, ...], Any] = {}
        self._alike: dict[Hashable, list[tuple[_Reads, Any]]] = {}

    def __getitem__(self, kind: str) -> "pd.DataFrame":
        table = self._tables[kind]
        if isinstance(table, PlainTable):
            return self._once((kind,), table.in_pandas)
        return table

    def columns(self, kind: str) -> "pd.DataFrame | pl.DataFrame":
        """Return a table of whichever library has it: its columns, and no more."""
        table = self._tables[kind]
        return table.frame if isinstance(table, PlainTable) else table

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def once(self, make: Callable[..., T], *kinds: str, **options: Any) -> T:
        """Call `make` with some tables and options, or return its earlier result."""
        return self._call(self.__getitem__, make, kinds, options)

    def once_plain(self, make: Callable[..., T], *kinds: str, **options: Any) -> T:
        """Call `make` with the tables of `columns`, or return its earlier result."""
        return self._call(self.columns, make, kinds, options)

    def once_for(
        self,
        key: Hashable,
        parameters: Mapping[str, Any],
        make: Callable[[Mapping[str, Any]], T],
    ) -> T:
        """Call `make`, or return its result for equal values of those it read.

        So measures that need the same arrays of judgments share them, whatever their
        other parameters are.

        Args:
            key: Name of the result; one name has one `make`.
            parameters: Parameters of the measure.
            make: Function that reads some of the parameters, always by name.
        """
        alike = self._alike.setdefault(key, [])
        for reads, made in alike:
            if reads.same(parameters):
                return made
        reads = _Reads(parameters)
        made = make(reads)
        alike.append((reads, made))
        return made

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
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


class _Reads(Mapping[str, Any]):
    """Parameters that note which of them are read."""

    def __init__(self, parameters: Mapping[str, Any]):
        self._parameters, self._read = parameters, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        self._read[name] = self._parameters.get(name, _NONE)
        return self._parameters[name]

    def same(self, parameters: Mapping[str, Any]) -> bool:
        """Whether other parameters have the values that were read of these."""
        read = self._read.items()
        return all(parameters.get(name, _NONE) == value for name, value in read)

    def __iter__(self) -> Iterator[str]:
        raise TypeError("parameters are read by name")

    def __len__(self) -> int:
        return len(self._parameters)
