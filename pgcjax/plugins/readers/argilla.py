"""Argilla: rankings and labels that users gave to the fields of a record.

Records of argilla as JSON, `dataset.records.to_json()` (github.com/argilla-io/argilla,
argilla/src/argilla/records/_resource.py, `Record.to_dict`): `{id, fields, metadata,
responses: {question: [{value, user_id}]}}`. A ranking is a list of names, or of
{value, rank}, where equal ranks are ties; a label is read as an answer in a table of
votes. If the metadata has an entry with the name of a field, its value, such as a
model, is the document. The query is the record, the judge the user, the aspect the
question.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys
from pgcjax.io.votes.header import Header

_COUNTING = ("submitted", None)  # and not draft or discarded


def _answers(record: Mapping[str, Any]) -> Iterator[tuple[str, Any, str, bool]]:
    """Read question, value and user of each answer, and whether it counts."""
    for question, answers in record["responses"].items():
        for answer in answers:
            counts = answer.get("status") in _COUNTING
            yield question, answer["value"], answer["user_id"], counts


def _ranks(value: Any) -> dict[str, int]:
    """Read the rank of each document; return {} if the value is no ranking."""
    if not isinstance(value, list):
        return {}
    named = (v if isinstance(v, dict) else {"value": v} for v in value)
    return {v["value"]: v.get("rank", i) for i, v in enumerate(named)}


def _read(content: Content) -> Rows:
    rankings: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    for record in content.rows():
        fields = record["fields"]
        names = {field: field for field in fields} | (record.get("metadata") or {})
        pairs = Header(fields, content.name, {}).sides()
        for question, value, user, counts in _answers(record):
            row = {"query_id": record["id"], "judge": user, "aspect": question}
            ranks = _ranks(value)
            for one, other in combinations(sorted(ranks, key=ranks.__getitem__), 2):
                two = {"doc_id": names.get(one, one)}
                two["other_doc_id"] = names.get(other, other)
                sign = int(ranks[one] < ranks[other]) if counts else None
                rankings.append(row | two | {"preference": sign})
            if not ranks and len(pairs) == 1:
                two = {field: names[field] for field in pairs[0][0].columns}
                labels.append(row | two | {"winner": value if counts else None})
    if not rankings and not labels:
        content.refuse(
            "has no ranking, and no label of records with two fields to compare",
            "Name two fields of a record as response_a and response_b, or ask for a "
            "ranking.",
        )
    yield from rankings or labels


READER = Reader("argilla", "preferences", keys("fields responses"), _read)
