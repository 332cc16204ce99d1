"""Measures as text: strings that parse to measures, and print back."""

import difflib
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from pgcjax.errors import UsageError
from pgcjax.measures.measure import MEAN, Measure, Value, usual_mean
from pgcjax.measures.other_names import explained

NAME = r"[^()@\s]+"  # pattern of the name of a measure
WHOLE, DECIMAL = r"[1-9][0-9]{0,6}", r"[0-9]*\.?[0-9]+"
PLACES = {"{k}": WHOLE, "{x}": DECIMAL}  # numbers in names of trec_eval


def parse(
    text: str, catalogue: Mapping[str, Measure], *, complete: bool = True
) -> Measure:
    """Read a measure such as `PGC(p=0.8, graph=derived)` or `nDCG@10`.

    Args:
        text: The measure.
        catalogue: Measures with their default parameters, by name.
        complete: Whether a required cutoff must be given.

    Raises:
        UsageError: `text` is no text, the name or a parameter is unknown, or a value is
            out of range.
    """
    if not isinstance(text, str):
        raise UsageError(
            "expected a measure as text, such as 'PGC' or 'RBP(p=0.8)@10', found "
            + shown(text)
        )
    form = re.fullmatch(
        rf"\s*({NAME})\s*(?:\((.*)\))?\s*(?:@\s*(\S+)\s*)?", text, re.DOTALL
    )
    if not form:
        raise UsageError(f"{text!r} is not a measure such as PGC, PGC(p=0.95), nDCG@10")
    measure, meant = _look_up(form[1], catalogue)
    if meant and not form[2] and not form[3]:
        return parse(meant, catalogue, complete=complete)
    if meant and meant != measure.name:
        raise UsageError(f"{text!r}: {form[1]} is {meant}: write that, and change it")
    parameters = {n: p for n, (p, _) in measure.described().items()} | {MEAN.name: MEAN}
    given: dict[str, Value] = {}
    for part in (form[2] or "").split(","):
        if not part.strip():
            continue
        name, equals, value = (x.strip() for x in part.partition("="))
        if not equals or name not in parameters:
            has = f"it has {', '.join(parameters)}"
            hint = _hint(name, parameters)
            raise UsageError(f"{measure.name} has no parameter {name!r}{hint}; {has}")
        if name in given:
            raise UsageError(f"{text!r} gives {name} twice")
        given[name] = parameters[name].read(value)
    k = _cutoff(measure, form[3], text.strip(), complete)
    names = tuple(name for name in given if name != MEAN.name)
    mean = given.pop(MEAN.name, usual_mean(measure.name))
    return measure.replace(**given, k=k, mean=mean, given=names)


def _cutoff(
    measure: Measure, given: str | None, text: str, complete: bool
) -> float | None:
    name = measure.name
    if given is None:
        check_cutoff(measure, text, complete=complete)
        return None
    if measure.cutoff == "no":
        raise UsageError(f"{text}: {name} has no cutoff: write it without @{given}")
    if measure.cutoff == "level":
        if re.fullmatch(DECIMAL, given) and 0 <= (level := float(given)) <= 1:
            return level
        raise UsageError(
            f"{text}: expected a level of recall from 0 to 1, found {given!r}"
        )
    if not re.fullmatch(WHOLE, given):
        raise UsageError(
            f"{text}: expected a whole number from 1 to 9999999 as cutoff, "
            f"found {given!r}"
        )
    return int(given)


def check_cutoff(measure: Measure, text: str = "", *, complete: bool = True) -> None:
    """Refuse a measure that lacks a cutoff, by a UsageError that says what to write."""
    text = text or str(measure)
    if measure.k is None and complete:
        if measure.cutoff == "must":
            raise UsageError(f"{text} needs a cutoff: such as {text}@10")
        if measure.cutoff == "level":
            raise UsageError(f"{text} needs a level of recall: such as {text}@0.1")


def find(
    name: str, catalogue: Mapping[str, Measure]
) -> tuple[Measure | None, str | None]:
    """Look up a measure by its name, or by an alias, with the measure it stands for."""
    if name in catalogue:
        return catalogue[name], None
    by_lower = {each.lower(): each for each in catalogue}
    if name.lower() in by_lower:
        return catalogue[by_lower[name.lower()]], None
    for measure in catalogue.values():
        for alias, meant in measure.aliases.items():
            pattern = re.escape(alias)
            for place, number in PLACES.items():
                pattern = pattern.replace(re.escape(place), f"({number})")
            # trec_eval prints ndcg_cut_10, but takes ndcg_cut.10 as option.
            pattern = pattern.replace("_(", "[_.](")
            if match := re.fullmatch(pattern, name, re.IGNORECASE):
                return measure, filled(meant, *match.groups())
    return None, None


def filled(text: str, *number: str) -> str:
    """Fill the number into an alias, or into the measure that it means."""
    for place in PLACES:
        text = text.replace(place, "".join(number))
    return text


def shown(value: Any) -> str:
    """Show a value that is no measure in one short line, with its type."""
    kind = f"{type(value).__module__}.{type(value).__name__}"
    return f"{textwrap.shorten(repr(value), 60)} ({kind.removeprefix('builtins.')})"


def _look_up(name: str, catalogue: Mapping[str, Measure]) -> tuple[Measure, str | None]:
    measure, meant = find(name, catalogue)
    if measure:
        return measure, meant
    if meaning := explained(name):
        raise UsageError(
            f"no measure is called {name!r}: it is {meaning}. `pgcjax measures` lists "
            "them"
        )
    aliases = [a for d in catalogue.values() for a in d.aliases if "{" not in a]
    raise UsageError(
        f"no measure is called {name!r}{_hint(name, [*catalogue, *aliases])}; "
        "`pgcjax measures` lists them"
    )


def _hint(word: str, names: Iterable[str]) -> str:
    """Suggest the names that a mistyped word was likely meant to be."""
    by_lower: dict[str, str] = {}
    for name in names:  # measures precede their aliases
        by_lower.setdefault(name.lower(), name)
    near = difflib.get_close_matches(word.lower(), by_lower, n=3)
    anagrams = [k for k in by_lower if sorted(k) == sorted(word.lower())]
    if anagrams:  # swapped letters, as in PCG, are the likeliest slip
        near = anagrams[:1]
    return f": did you mean {' or '.join(by_lower[k] for k in near)}?" if near else ""
