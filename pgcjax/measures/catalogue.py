"""All measures by name: those in the files of this folder, and in other packages."""

from __future__ import annotations

import pkgutil
import re
import warnings
from collections.abc import Callable, Collection, Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from pgcjax import measures
from pgcjax.errors import DataWarning, UsageError
from pgcjax.io.in_memory import is_of
from pgcjax.later import pd
from pgcjax.measures import spec
from pgcjax.measures.measure import CUTOFF, Measure, written

ALL, OFFICIAL = "all", "official"
PRESETS: dict[str, tuple[str, ...]] = {
    ALL: (),  # all measures for which the judgments suffice
    OFFICIAL: (
        *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec"),
        *("bpref", "recip_rank"),
        *(f"iprec_at_recall_{level / 10:.2f}" for level in range(11)),
        *(f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    ),
}
"""Names of sets of measures; that of trec_eval has those it prints by default."""

GROUP = "pgcjax.measures"
"""Group of entry points by which a package provides measures."""


@cache
def catalogue() -> dict[str, Measure]:
    """Return all measures by name: built-in, from installed packages, registered."""
    register_installed()
    return _known()


def register(*chosen: Measure) -> None:
    """Add measures to the catalogue of this process, for `evaluate` and all else.

    An installed package needs no such call: its entry points of the group
    `pgcjax.measures`, each a measure or a tuple of them, are registered automatically.

    Args:
        chosen: Measures with their default parameters, such as `Failure()`. A measure
            may be registered again.

    Raises:
        UsageError: an argument is no measure, its name is invalid, or another measure
            has the name or alias, in upper or lower case.
    """
    for measure in chosen:
        if not isinstance(measure, Measure):
            raise UsageError(
                "expected a measure, such as Failure() of a class Failure(Graded), "
                f"found {spec.shown(measure)}"
            )
        for alias in (measure.name, *measure.aliases):
            name = spec.filled(alias, "1")
            if not re.fullmatch(spec.NAME, name) or name.lower() in PRESETS:
                raise UsageError(f"no measure can be called {alias!r}: see PGC, nDCG")
            taken, _ = spec.find(name, _known())
            if taken and taken != measure and _place(taken) != _place(measure):
                raise UsageError(
                    f"{measure.name} of {measure.source}: {alias!r} is a name "
                    f"of {taken.name} of {taken.source}: choose another"
                )
        _known()[measure.name] = measure


def _place(measure: Measure) -> tuple[str, str]:
    """Module and name of its class, equal after a notebook's cell was run again."""
    return type(measure).__module__, type(measure).__qualname__


def built_in() -> dict[str, Measure]:
    """Collect `MEASURES` of all files here, in the order of files.

    Raises:
        ValueError: two measures have one name.
    """
    collected: dict[str, Measure] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(measures.__path__)):
        module = import_module(f"{measures.__name__}.{module}")
        for measure in getattr(module, "MEASURES", ()):
            if collected.setdefault(measure.name, measure) is not measure:
                raise ValueError(f"two measures are called {measure.name}")
    return collected


_known = cache(built_in)
"""Function that returns the one dict of this process, to which `register` adds."""


def register_installed() -> None:
    """Register measures of installed packages; warn of defective ones."""
    for entry in sorted(entry_points(group=GROUP)):
        try:
            value = entry.load()
            register(*(value if isinstance(value, tuple | list) else (value,)))
        except Exception as error:
            package = entry.dist.name if entry.dist else entry.module
            cause = " ".join(f"{type(error).__name__}: {error}".split())
            warnings.warn(
                f"package {package}: measures of {entry.value} are left out, because "
                f"of {cause}. Mend or uninstall the package",
                DataWarning,
                stacklevel=3,
            )


def listing() -> pd.DataFrame:
    """List all measures, a row each: what `pgcjax.measures()` returns.

    Returns:
        Table of name; parameters with defaults, such as `p=0.95,depth=1000`, as written
        in parentheses after the name; cutoff, whether `@k` follows (`no`, `may`,
        `must`, or `level` of recall); needs, the arguments of `evaluate` for judgments
        that it takes by default; meaning; source.
    """
    rows = []
    for name, measure in catalogue().items():
        parameters = measure.parameters.items()
        rows.append(
            {
                "name": name,
                "parameters": ",".join(
                    f"{key}={written(value)}"
                    for key, value in parameters
                    if key != CUTOFF
                ),
                "cutoff": measure.cutoff,
                "needs": ", ".join(sorted(measure.needs)),
                "meaning": measure.meaning,
                "source": measure.source,
            }
        )
    return pd.DataFrame(rows, dtype="str")


def parse(text: Any, *, complete: bool = True) -> Measure:
    """Read a measure such as `PGC(p=0.8)` by the catalogue; see `spec.parse`.

    A measure object of ir_measures is read as the equal measure here, and one of
    `plugins.ir_measures` is returned as it is.
    """
    written = getattr(text, "asked", text)
    if isinstance(written, Measure):
        spec.check_cutoff(written, complete=complete)
        return written
    if is_of(text, "ir_measures"):
        from pgcjax.measures.ir_names import here  # it imports this module

        text = here(text.NAME, text.params)
    name = re.match(rf"\s*({spec.NAME})", text) if isinstance(text, str) else None
    if name and spec.find(name[1], _known())[0]:  # found without installed packages
        return spec.parse(text, _known(), complete=complete)
    _refuse_between(name)
    return spec.parse(text, catalogue(), complete=complete)


def _refuse_between(name: re.Match[str] | None) -> None:
    """Refuse a measure that compares two rankings, and so scores no run."""
    from pgcjax.measures.between_rankings import BETWEEN  # it imports this module

    if name and not spec.find(name[1], catalogue())[0]:
        if between := spec.find(name[1], BETWEEN)[0]:
            raise UsageError(
                f"{between.name} compares two rankings, and scores none: pgcjax "
                "prefer, or pgcjax.rankings.prefer in Python, takes it"
            )


def parse_all(
    texts: str | Iterable[str] | Any, given: Collection[str] | None = None
) -> list[Measure]:
    """Read measures; one that is asked for twice is returned once, as first written.

    Args:
        texts: Measures, and names of `PRESETS`.
        given: Kinds of judgments that there are, for `all`; by default, any.
    """
    several = isinstance(texts, Iterable) and not isinstance(texts, str)
    written: list[Any] = []
    for text in texts if several else [texts]:
        name = text.strip().lower() if isinstance(text, str) else ""
        if name in PRESETS:
            written += sufficed(given) if name == ALL else PRESETS[name]
        else:
            written.append(text)
    return list(dict.fromkeys(map(parse, written)))


def is_preset(text: Any) -> bool:
    """Whether this is the name of several measures."""
    return isinstance(text, str) and text.strip().lower() in PRESETS


def sufficed(given: Collection[str] | None) -> list[str]:
    """List each measure for which judgments suffice, with its usual parameters.

    A required cutoff is 10, and a required level of recall 0.1.
    """
    follows = {"must": "@10", "level": "@0.1"}
    names = []
    for name, measure in catalogue().items():
        if given is None or measure.needs <= {*given}:
            names.append(name + follows.get(measure.cutoff, ""))
    return names


def tell_merged(
    texts: Iterable[Any], parse: Callable[[Any], Measure] = parse
) -> list[str]:
    """Return a line for each measure that was written in several ways."""
    spellings: dict[Measure, dict[str, None]] = {}
    for text in texts:
        if is_preset(text):
            continue
        spellings.setdefault(parse(text), {})[str(text).strip()] = None
    return [
        f"{' and '.join(written)} are one measure: it is computed once, as {measure}"
        for measure, written in spellings.items()
        if len(written) > 1
    ]
