"""Regular files of preferences, read fast; unusual ones are for the exact reader."""

import math

import polars as pl

from pgcjax.io.fast_columns import TEXT, table
from pgcjax.io.preference_formats import FORMATS
from pgcjax.io.schema import known_column, lenient_number
from pgcjax.io.votes.layouts import may_be_header

_PAIR = {"query_id": TEXT, "doc_id": TEXT, "other_doc_id": TEXT}
_LABELLED = {**_PAIR, "label": TEXT}
_LAYOUTS = {"luo": _PAIR, "clarke": _LABELLED, "jelsas": _LABELLED}
_SIGNS = {"-2": -1.0, "-1": 1.0, "0": 0.0, "1": -1.0, "2": -1.0}


def parse(data: bytes, format: str) -> pl.DataFrame | None:
    """Read a file in the format clarke, luo or jelsas, if that is beyond doubt.

    Returns:
        Table of query_id, doc_id, other_doc_id and preference: what the exact reader
        gives. None where it is for that one to say what is the matter: a row that does
        not fit, a header, another format, or rows that fit several.
    """
    auto = format == "auto"
    names = [name for name in _LAYOUTS if auto or name == format]
    frame = table(data, {FORMATS[n].width: _LAYOUTS[n] for n in names})
    if frame is None or all(map(known_column, frame.row(0))):
        return None
    if any(map(may_be_header, frame["query_id"].unique().to_list())):
        return None
    for name in names:
        if _LAYOUTS[name] is (_LABELLED if "label" in frame.columns else _PAIR):
            judged = _READERS[name](frame, auto)
            if judged is not None:
                return judged
    return None


def _luo(frame: pl.DataFrame, auto: bool) -> pl.DataFrame | None:
    # One loser that is no number is enough to tell that they are no scores.
    if auto and not math.isnan(lenient_number(frame["other_doc_id"][0])):
        if FORMATS["luo"].doubt([tuple(column) for column in frame]):
            return None
    return frame.with_columns(preference=1.0)


def _clarke(frame: pl.DataFrame, auto: bool) -> pl.DataFrame | None:
    best = frame["label"]
    first, second = best == frame["doc_id"], best == frame["other_doc_id"]
    if not (first | second).all():
        return None
    if auto:
        # As `formats` tells them: no labels of Jelsas' and no levels.
        both_sides = first.any() and second.any() and not (first & second).any()
        no_levels = both_sides or math.isnan(lenient_number(best[0]))
        if not no_levels or best.is_in(list(_SIGNS)).all():
            return None
    sign = first.cast(pl.Float64) * 2 - 1
    return frame.drop("label").with_columns(preference=sign)


def _jelsas(frame: pl.DataFrame, auto: bool) -> pl.DataFrame | None:
    _, doc, other, label = frame
    bad_doc, bad_other = label == "-2", label == "2"
    if not (
        label.is_in(list(_SIGNS)).all()
        and ((other == "NA") == bad_doc).all()
        and ((doc == "NA") == bad_other).all()
    ):
        return None
    if auto:
        is_best = ((label == doc) | (label == other)).all()  # as Clarke's may be
        no_levels = label.str.starts_with("-").any()
        if is_best or not no_levels or (doc.n_unique() == 1 and len(doc) > 1):
            return None
    return frame.select(
        "query_id",
        doc.zip_with(~bad_other, other),
        other.set(bad_doc | bad_other, None),
        preference=label.replace_strict(_SIGNS, return_dtype=pl.Float64),
    )


_READERS = {"luo": _luo, "clarke": _clarke, "jelsas": _jelsas}
