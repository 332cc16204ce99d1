"""The measures of ir_measures as data: the measure here, and different numbers.

`here` translates a measure. Tests compute each row with ir_measures itself, which this
module does not import. `docs/measures-tools.md` covers all tools.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pgcjax.errors import DataWarning, UsageError, outside
from pgcjax.measures.catalogue import is_preset, parse
from pgcjax.measures.measure import Measure, spell, usual_mean


@dataclass(frozen=True)
class Name:
    """A measure of ir_measures, and the equal or nearest measure here.

    Attributes:
        theirs: Name there.
        ours: Name of the equal or nearest measure here.
        cutoff: Whether its tools compute it at `@k`: `no`, `may` or `must`; or `level`,
            if they need a level of recall.
        same: Parameters with the same name and meaning.
        renamed: Parameters there, with their names here.
        instead: Parameters there that, if given and not false, select another measure
            here.
        words: Parameters here, for each word of a parameter there.
        sets: Parameters here that have no name there, and their values.
        defaults: Default values there that differ from those here.
        required: Parameters that its tools need.
        least: Lowest cutoff at which the measures are equal.
        differs: Reason why no measure here is equal, or "".
        published: Whether the number here is that of its authors' program: the name
            means this number, and needs no warning about ir_measures.
        tells: Parameter here that makes the name unambiguous, or "".
        aliases: Other names there.
        examples: Parameters with which it is listed.
        remark: Remark on the last example, or "".
    """

    theirs: str
    ours: str
    cutoff: str = "no"
    same: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    sets: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    least: int = 1
    differs: str = ""
    published: bool = False
    tells: str = ""
    aliases: tuple[str, ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ({},)
    remark: str = ""


_REL = ("rel",)
_CLARKE = "ties as --order clarke"
_NDEVAL = f"--intent-qrels; {_CLARKE}"
_LINES = "ties as lines come: --order rank if ranks follow them"
_CWL = f"of 1000 documents at most; {_LINES}"

NAMES = (
    Name(
        "nDCG",
        "nDCG",
        "may",
        words={"dcg": {"log2": {}, "exp-log2": {"gain": "exp"}}},
        aliases=("NDCG",),
        examples=({}, {"dcg": "exp-log2"}),
        remark="gdeval rounds to 5 decimals",
    ),
    Name("AP", "AP", "may", _REL, aliases=("MAP",)),
    Name("RR", "RR", "may", _REL, aliases=("MRR",), remark=_CLARKE),
    Name("P", "P", "must", _REL, aliases=("Precision",)),
    Name("R", "R", "must", _REL, aliases=("Recall",)),
    Name(
        "SetP",
        "P",
        "no",
        _REL,
        instead={"relative": "RelP"},
        aliases=("SetRelP",),
        examples=({}, {"relative": True}),
    ),
    Name("SetR", "R", "no", _REL),
    Name("SetF", "SetF", "no", ("rel", "beta"), examples=({}, {"beta": 0.5})),
    Name("SetAP", "SetAP", "no", _REL),
    Name("Success", "Success", "must", _REL),
    Name("Rprec", "Rprec", "no", _REL, aliases=("RPrec",)),
    Name("Bpref", "Bpref", "no", _REL, aliases=("BPref",)),
    Name("infAP", "infAP", "no", _REL),
    Name("IPrec", "IPrec", "level", _REL),
    Name(
        "Accuracy",
        "Accuracy",
        "may",
        _REL,
        remark=f"no value there where a run has no relevant document; {_LINES}",
    ),
    Name("NumQ", "NumQ"),
    Name("NumRel", "NumRel", "no", _REL),
    Name(
        "NumRet",
        "NumRet",
        "no",
        _REL,
        instead={"rel": "NumRelRet"},
        aliases=("NumRelRet",),
        examples=({}, {"rel": 1}),
    ),
    Name("Judged", "Judged", "may", remark=_CLARKE),
    Name(
        "RBP",
        "RBP",
        same=("p", "rel"),
        defaults={"p": 0.8},
        required=_REL,
        tells="p",
        examples=({"rel": 1},),
        remark=_CWL,
    ),
    Name(
        "ERR",
        "ERR",
        "must",
        sets={"gmax": 4},
        tells="gmax",
        remark="gdeval rounds to 5 decimals",
    ),
    Name(
        "Compat",
        "Compat",
        same=("p", "normalize"),
        differs="looks as deep as the longer of run and ideal ranking: Compat(depth=N) "
        "here for runs of N documents",
        published=True,
        tells="depth",
    ),
    Name(
        "alpha_nDCG",
        "alpha_nDCG",
        "must",
        ("alpha",),
        aliases=("α_nDCG",),
        remark=_NDEVAL,
    ),
    Name(
        "alpha_DCG",
        "alpha_DCG",
        "must",
        ("alpha",),
        differs="is divided by that of k documents which serve all intents; nothing "
        "here is",
        aliases=("α_DCG",),
    ),
    Name("NRBP", "NRBP", same=("alpha", "beta"), remark=_NDEVAL),
    Name(
        "ERR_IA",
        "ERR-IA",
        "must",
        sets={"form": "ndeval"},
        least=2,
        remark=f"≠ @1; {_NDEVAL}",
    ),
    Name(
        "nERR_IA",
        "nERR-IA",
        "must",
        differs="is ERR_IA over that of the ideal list of alpha_nDCG; nothing here is",
    ),
    Name("AP_IA", "AP-IA", "no", _REL, aliases=("MAP_IA",), remark=_NDEVAL),
    Name("P_IA", "P-IA", "must", _REL, remark=_NDEVAL),
    Name("StRecall", "I-rec", "must", remark=_NDEVAL),
    Name("nNRBP", "nNRBP", same=("alpha", "beta"), remark=_NDEVAL),
    *(
        Name(
            name,
            name,
            "must" if own in ("", "T@") else "no",
            same=tuple(own.strip("@")),
            words={"dcg": {"log2": {}}} if name == "SDCG" else {},
            renamed={"min_rel": "gmin", "max_rel": "gmax"},
            required=("max_rel",),
            examples=({"max_rel": 3},),
            remark=_CWL,
        )
        for name, own in {
            "BPM": "T@",
            "SDCG": "",
            "INSQ": "T",
            "INST": "T",
            "NERR8": "",
            "NERR9": "",
            "NERR10": "p",
            "NERR11": "T",
        }.items()
    ),
)
"""Measures of ir_measures that exist here, or share their name with one here."""

TREC_EVAL = {"rbp": "RBP(p=0.9,gain=linear,gmax=topic)"}
"""Names of trec_eval that mean another number here; all others are aliases."""

_NEUTRAL = {"rel": 1, "judged_only": False, "relative": False}
_AT = {"cutoff": 10, "recall": 0.1}  # meaning of @ there, and an example
_BY_NAME = {name: row for row in NAMES for name in (row.theirs, *row.aliases)}


class Row(NamedTuple):
    """A measure of ir_measures, the equal one here or "", and a remark."""

    theirs: str
    ours: str
    remark: str


def table() -> Iterator[Row]:
    """List the measures of ir_measures that exist here, with @10 for any cutoff."""
    for row in NAMES:
        for example in row.examples:
            at = _at(row)
            shown = {**example, **({at: _AT[at]} if at else {})}
            theirs = spelled(row.theirs, shown)
            ours = "" if row.differs else here(row.theirs, shown)
            remark = row.remark if example == row.examples[-1] else ""
            yield Row(theirs, ours, row.differs or remark)


def lines() -> Iterator[str]:
    """Print the table for people."""
    head = Row("ir_measures", "here", "")
    rows = [head, *(row._replace(ours=row.ours or "≠") for row in table())]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    for theirs, ours, remark in rows:
        yield f"{theirs:{widths[0]}}  {ours:{widths[1]}}  {remark}".rstrip()


def here(name: str, parameters: Mapping[str, Any]) -> str:
    """Spell a measure of ir_measures as the equal measure here.

    Args:
        name: Its `NAME`, or another name there.
        parameters: Its `params`: those that were given.

    Raises:
        UsageError: no measure here is equal.
    """
    theirs = f"{spelled(name, parameters)} of ir_measures"
    row = _BY_NAME.get(name)
    if row is None:
        raise UsageError(f"{theirs} is not here; {_LISTS}")
    if row.differs:
        raise UsageError(f"{theirs} {row.differs}; {_LISTS}")
    for key in sorted(_needed(row) - parameters.keys()):
        raise UsageError(f"{theirs} is computed by no tool without {key}=…; {_LISTS}")
    ours, given, k = row.ours, dict(row.sets), None
    parameters_here: dict[str, Any] = {**row.defaults, **parameters}
    for key, value in parameters_here.items():
        if key == _at(row) and (key != "cutoff" or value >= row.least):
            k = value
        elif key in row.instead and bool(value):
            ours = row.instead[key]
            if key in row.same:
                given[key] = value
        elif key in row.same or key in row.renamed:
            given[row.renamed.get(key, key)] = value
        elif key in row.words and value in row.words[key]:
            given |= row.words[key][value]
        elif _NEUTRAL.get(key) != value:
            raise UsageError(f"{theirs}: {key}={value!r} is not here; {_LISTS}")
    return str(parse(spell(ours, given.items(), k)))


def spelled(name: str, parameters: Mapping[str, Any]) -> str:
    """Spell a measure as ir_measures does, with all parameters that are given."""
    inside = ",".join(f"{k}={v!r}" for k, v in parameters.items() if k not in _AT)
    at = "".join(f"@{v}" for k, v in parameters.items() if k in _AT)
    return (f"{name}({inside})" if inside else name) + at


def other_number(text: str) -> str:
    """Describe another tool's measure of this spelling, if its number differs.

    Returns:
        A text such as `ERR@20 of ir_measures is ERR(gmax=4)@20 here`; or "", if the
        number is the same there, or no other tool has a measure of this spelling.
    """
    text = text.strip()
    if text in TREC_EVAL:
        return f"{text} of trec_eval is {TREC_EVAL[text]} here"
    measure = parse(text)
    row = _BY_NAME.get(measure.name)
    there = _there(row, measure) if row else None
    if row is None or there is None:
        return ""
    if row.differs:
        return f"{text} of ir_measures {row.differs}"
    equal = here(row.theirs, there)
    return "" if parse(equal) == measure else f"{text} of ir_measures is {equal} here"


def unmistakable(measure: Measure) -> Measure:
    """Make a measure print the parameter that distinguishes it from ir_measures'."""
    row = _BY_NAME.get(measure.name)
    if row and row.tells and other_number(str(measure)):
        return replace(measure, given=(*(measure.given or ()), row.tells))
    return measure


def _there(row: Name, measure: Measure) -> dict[str, Any] | None:
    """Return the parameters there of a measure of this spelling; None without one."""
    given = {name: measure.parameters[name] for name in measure.given or ()}
    at = _at(row)
    if measure.k is not None:
        given[at] = measure.k
    other = measure.mean != usual_mean(measure.name)
    if other or measure.name in row.instead.values():
        return None
    names = {*row.same, *row.words, at}
    return given if _needed(row) <= given.keys() <= names else None


def _at(row: Name) -> str:
    """Name the parameter there that follows @; "" without one."""
    return {"no": "", "level": "recall"}.get(row.cutoff, "cutoff")


def _needed(row: Name) -> set[str]:
    return {*row.required, *([_at(row)] if row.cutoff in ("must", "level") else [])}


def warn_of_other_numbers(measures: Any) -> None:
    """Warn once, in one line, of measures that are another number in other tools.

    Args:
        measures: Measures as in `evaluate`; only those written as text count.
    """
    texts = [measures] if isinstance(measures, str) else measures or ()
    new: dict[str, str] = {}
    for text in texts:
        if not isinstance(text, str) or is_preset(text) or text in SAID:
            continue
        row = _BY_NAME.get(parse(text).name)
        if not (row and row.published) and (note := other_number(text)):
            new[text] = note
    if new:
        notes = "; ".join(dict.fromkeys(new.values()))
        warnings.warn(f"{notes}. {_LISTS}", DataWarning, stacklevel=outside())
        SAID.update(new)


_LISTS = "`pgcjax measures ir_measures` lists all"
SAID: set[str] = set()
"""Measures of which this process has warned."""
