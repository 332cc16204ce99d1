"""Inspect: verdicts on two outputs in a log, sample by sample.

Logs of inspect_ai as `.eval` archives (samples/ID_epoch_N.json) or `.json`
(github.com/UKGovernmentBEIS/inspect_ai, src/inspect_ai/log/_log.py, `EvalSample`, and
scorer/_metric.py, `Score`). The metadata of a sample or score name the compared
documents, such as model_a and model_b, and are read like a table of votes. A score's
value is the verdict, and its scorer the judge; but if all values are grades (C, I, P, N
or numbers), the score's answer is the verdict, and the evaluated model the judge. The
query is the id of the sample, unless the metadata name one.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys
from pgcjax.io.reading import chosen
from pgcjax.io.votes.header import of_votes

_GRADES = {"C", "I", "P", "N"}
_ARCHIVE, _LOG = "samples/", keys("eval task_id")
_UNSCORED: dict[str | None, dict[str, Any]] = {None: {"value": None}}  # by an error


def _claims(content: Content) -> bool:
    archived = any(name.startswith(_ARCHIVE) for name in content.members())
    return archived or _LOG(content)


def _samples(content: Content) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the model that was evaluated, and each sample."""
    if members := content.members():
        header = "header.json" if "header.json" in members else "_journal/start.json"
        model = json.loads(content.member(header))["eval"]["model"]
        for name in sorted(members):
            if name.startswith(_ARCHIVE):
                yield model, json.loads(content.member(name))
    else:
        log = content.json()
        for sample in log.get("samples") or ():
            yield log["eval"]["model"], sample


def _metadata(part: Mapping[str, Any]) -> dict[str, Any]:
    return part.get("metadata") or {}


def _is_grade(value: Any) -> bool:
    return isinstance(value, int | float | None) or str(value) in _GRADES


def _read(content: Content) -> Rows:
    scored = [
        (model, sample["id"], scorer, score, _metadata(sample) | _metadata(score))
        for model, sample in _samples(content)
        for scorer, score in (sample.get("scores") or _UNSCORED).items()
    ]
    names = {key for *_, metadata in scored for key in metadata}
    if not of_votes([*names, "query_id", "winner"]) and not chosen().columns:
        content.refuse(
            "holds scores of one model, and names no two that were compared",
            "Name them in the metadata of samples or scores, as model_a and model_b.",
        )
    grades = all(_is_grade(score["value"]) for *_, score, _ in scored)
    for model, query, scorer, score, metadata in scored:
        row = {"query_id": query, "judge": model if grades else scorer} | metadata
        yield row | {"winner": score.get("answer") if grades else score["value"]}


READER = Reader("inspect", "preferences", _claims, _read)
