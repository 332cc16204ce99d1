"""Label Studio: answers to a `Pairwise` tag, of each annotator.

The JSON export: tasks with `data` and `annotations`, whose `result` has `type:
pairwise`, `to_name: "LEFT,RIGHT"` and `value: {selected: left}`
(labelstud.io/guide/task_format, labelstud.io/tags/pairwise). LEFT and RIGHT are names
of tags; fields of `data` with the same names hold the two documents, else the user has
to name two fields. A choice instead of a selection, as for ties, is read as a word of
an answer. The judge is `completed_by`; skipped annotations are no answers. Other fields
are read like those of a table of votes.
"""

from collections.abc import Mapping
from typing import Any

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys, text_id


def _answer(annotation: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """Read the selected side, and the names of both sides."""
    results = annotation["result"]
    for result in results:
        if result["type"] == "pairwise":
            names = map(str.strip, result["to_name"].split(","))
            return result["value"]["selected"], [*names]
    choices = [r["value"]["choices"] for r in results if r["type"] == "choices"]
    return (choices[0][0] if len(choices) == 1 and choices[0] else None), []


def _read(content: Content) -> Rows:
    tasks = [*content.rows()]
    answers = [(t["data"], a, *_answer(a)) for t in tasks for a in t["annotations"]]
    sides = next((names for *_, names in answers if names), [])
    if not sides:
        content.refuse(
            "has no answer to a Pairwise tag",
            "Export a project whose labelling interface has one.",
        )
    for data, annotation, selected, names in answers:
        by = annotation["completed_by"]
        sides = names or sides  # a choice has no names: take those of earlier answers
        fields = dict(data)
        if {*sides} <= {*fields}:
            two = (text_id(str(fields.pop(side))) for side in sides)
            fields |= dict(zip(("left", "right"), two, strict=True))
        yield fields | {
            "winner": None if annotation.get("was_cancelled") else selected,
            "judge": by.get("email", by.get("id")) if isinstance(by, dict) else by,
            "time": annotation.get("created_at"),
            "seconds": annotation.get("lead_time"),
        }


_CLAIM = keys("annotations completed_by")
READER = Reader("label-studio", "preferences", _CLAIM, _read)
